package dev.evergreen.bench;

import java.util.List;
import java.util.Locale;

/**
 * A run of the evaluation of memcached servers; its text names it in the file of results.
 *
 * @param server by name
 * @param load what load it gets
 * @param round in which the servers take turns, from 0
 */
record LoadRun(String server, Setting load, int round) {

  /** The most connections that are measured, as many as in the thesis (001). */
  static final int MOST = 15_360;

  /**
   * A load.
   *
   * @param updates percent
   * @param hot whether all requests are for one key
   * @param target the rate that is aimed at, as a share of memcached's peak; 0 for the closed loop,
   *     and less than 0 for that which finds the peak
   */
  record Setting(int connections, int depth, int updates, boolean hot, double target) {

    static Setting closed(int connections, int depth) {
      return new Setting(connections, depth, 3, false, 0);
    }

    static Setting open(int updates, double target) {
      return new Setting(MOST, 1, updates, false, target);
    }

    Setting withUpdates(int percent, boolean hotKey) {
      return new Setting(connections, depth, percent, hotKey, target);
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "connections=%d depth=%d updates=%d%% keys=%s target=%.2f",
          connections,
          depth,
          updates,
          hot ? "one" : "all",
          target);
    }
  }

  /** What the closed loops are. */
  static final List<Setting> CLOSED =
      List.of(
          Setting.closed(16, 1),
          Setting.closed(512, 1),
          Setting.closed(MOST, 1),
          Setting.closed(64, 4),
          Setting.closed(16, 16),
          Setting.closed(512, 1).withUpdates(50, false),
          Setting.closed(512, 1).withUpdates(3, true),
          Setting.closed(512, 1).withUpdates(50, true));

  @Override
  public String toString() {
    return server + " " + load + " round=" + round;
  }
}

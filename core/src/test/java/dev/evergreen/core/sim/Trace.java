package dev.evergreen.core.sim;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * What happened in a run, in order: a bounded history for people and a hash of everything, schedule
 * included, for comparing two runs.
 */
final class Trace {

  private static final int KEPT = 4_000;

  private final boolean detailed;
  private final ArrayDeque<String> lines = new ArrayDeque<>();
  private long hash = 0xcbf29ce484222325L;
  private long count;

  /**
   * @param detailed whether to keep the whole history, with the content of messages
   */
  Trace(boolean detailed) {
    this.detailed = detailed;
  }

  boolean detailed() {
    return detailed;
  }

  /** Takes a decision into the hash only. */
  void mix(long value) {
    hash = (hash ^ value) * 0x100000001b3L;
    hash ^= hash >>> 29;
  }

  /** Takes an event into history and hash. The text must be the same in every process. */
  void add(long nanos, String where, String what) {
    mix(nanos);
    mix(where.hashCode());
    mix(what.hashCode());
    count++;
    if (!detailed && lines.size() == KEPT) {
      lines.removeFirst();
    }
    lines.addLast(time(nanos) + "  " + where + "  " + what);
  }

  /** Adds text for people, which is no part of the hash. */
  void note(String text) {
    lines.addLast(text);
  }

  long hash() {
    return hash;
  }

  /** The kept lines, oldest first. */
  List<String> lines() {
    return new ArrayList<>(lines);
  }

  /** The last lines, at most {@code limit}. */
  List<String> last(int limit) {
    var all = lines();
    return all.subList(Math.max(0, all.size() - limit), all.size());
  }

  /** How many events there were, kept or not. */
  long count() {
    return count;
  }

  private static String time(long nanos) {
    var micros = Long.toString(nanos / 1_000 % 1_000_000 + 1_000_000).substring(1);
    return nanos / 1_000_000_000 + "." + micros;
  }
}

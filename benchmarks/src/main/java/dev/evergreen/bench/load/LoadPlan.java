package dev.evergreen.bench.load;

import java.io.Serializable;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * What load is made.
 *
 * @param server by IPv4
 * @param connections over which requests go
 * @param depth how many requests wait for an answer at most on each connection
 * @param rate requests a second on average, which come whether or not earlier ones are answered
 *     (open loop); 0 for a request as soon as one is answered (closed loop)
 * @param updates the share of requests that set, from 0 to 1; the others get
 * @param keys how many there are
 * @param hot whether all requests are for one and the same key, else for all keys alike
 * @param pool the sizes of keys and values, and the gaps of the open loop
 * @param warmUp how long it runs before it is measured
 * @param time how long it is measured
 * @param seed of what is drawn
 */
public record LoadPlan(
    InetSocketAddress server,
    int connections,
    int depth,
    double rate,
    double updates,
    int keys,
    boolean hot,
    Pool pool,
    Duration warmUp,
    Duration time,
    long seed)
    implements Serializable {

  /** More would need another address of ours to connect from. */
  private static final int MOST_CONNECTIONS = 28_000;

  public LoadPlan {
    check("connections", connections, 1, MOST_CONNECTIONS);
    check("depth", depth, 1, 1024);
    check("keys", keys, 1, 10_000_000);
    check("updates", updates, 0, 1);
    check("rate", rate, 0, 1e8);
  }

  private static void check(String what, double value, double least, double greatest) {
    if (!(value >= least && value <= greatest)) {
      throw new IllegalArgumentException(
          "%s must be %.0f to %.0f, not %s".formatted(what, least, greatest, value));
    }
  }

  /** A closed loop over one connection at depth 1, with gets only, that is measured for 1 s. */
  public static LoadPlan of(InetSocketAddress server) {
    return new LoadPlan(
        server, 1, 1, 0, 0, 100_000, false, Pool.ETC, Duration.ZERO, Duration.ofSeconds(1), 1);
  }

  boolean open() {
    return rate > 0;
  }

  public LoadPlan withConnections(int connections) {
    return new LoadPlan(
        server, connections, depth, rate, updates, keys, hot, pool, warmUp, time, seed);
  }

  public LoadPlan withDepth(int depth) {
    return new LoadPlan(
        server, connections, depth, rate, updates, keys, hot, pool, warmUp, time, seed);
  }

  /** Requests a second, in open loop. */
  public LoadPlan withRate(double rate) {
    return new LoadPlan(
        server, connections, depth, rate, updates, keys, hot, pool, warmUp, time, seed);
  }

  public LoadPlan withUpdates(double updates) {
    return new LoadPlan(
        server, connections, depth, rate, updates, keys, hot, pool, warmUp, time, seed);
  }

  public LoadPlan withKeys(int keys, Pool pool) {
    return new LoadPlan(
        server, connections, depth, rate, updates, keys, hot, pool, warmUp, time, seed);
  }

  public LoadPlan withHotKey(boolean hot) {
    return new LoadPlan(
        server, connections, depth, rate, updates, keys, hot, pool, warmUp, time, seed);
  }

  public LoadPlan withTimes(Duration warmUp, Duration time) {
    return new LoadPlan(
        server, connections, depth, rate, updates, keys, hot, pool, warmUp, time, seed);
  }

  public LoadPlan withSeed(long seed) {
    return new LoadPlan(
        server, connections, depth, rate, updates, keys, hot, pool, warmUp, time, seed);
  }

  /**
   * The part of one of several processes that share the load.
   *
   * @throws IllegalArgumentException if there are more processes than connections
   */
  LoadPlan part(int index, int of) {
    return withConnections(connections / of + (index < connections % of ? 1 : 0))
        .withRate(rate / of)
        .withSeed(seed * of + index);
  }
}

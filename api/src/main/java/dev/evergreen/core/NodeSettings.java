package dev.evergreen.core;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * Every setting of a node. Start from {@link #DEFAULT} and change what you must. In files and in
 * the environment each has the key of its name: {@code call-timeout} ({@code docs/settings.md}).
 *
 * @param callTimeout how long a call waits for its answer before its outcome counts as unknown
 * @param idleAfter how long an activation without calls and subscribers is kept
 * @param stopGrace how long running turns may go on when their activation is closed
 * @param maxValueBytes the most bytes of one argument, result or state
 * @param maxWaitingCalls the most calls that wait for one activation; more are refused at once
 * @param maxCallsInFlight the most calls to one other node that wait for their answers; further
 *     ones from outside of grains wait for room within their time limit
 * @param cacheGrace how long a cached result without readers stays subscribed
 * @param renewEvery how often a cache renews its subscription (004 §4.2.1)
 * @param leaseFor how long a summary keeps a cache that it does not hear of (004 §4.2.1)
 * @param pushRetryAfter how long a push waits for its acknowledgement, and a subscription for its
 *     answer, before it is sent again
 * @param pushRoundTrip round trips above this slow down pushing to that node (004 §4.2)
 * @param maxBatchBytes the most bytes of results in one batch of pushes, unless one alone is larger
 * @param maxBacklog how many computations may wait for a processor before pushes are acknowledged
 *     late
 * @param writeDelay how long a write waits at most for a computation that writes have interrupted
 *     three times
 * @param cycleSuspicion how long a read may wait before a cycle across nodes is looked for
 * @param overwriteNewer whether a state in which a newer version of the program has stored record
 *     components that this node does not know may be saved without them; otherwise such saves are
 *     refused
 */
public record NodeSettings(
    Duration callTimeout,
    Duration idleAfter,
    Duration stopGrace,
    int maxValueBytes,
    int maxWaitingCalls,
    int maxCallsInFlight,
    Duration cacheGrace,
    Duration renewEvery,
    Duration leaseFor,
    Duration pushRetryAfter,
    Duration pushRoundTrip,
    int maxBatchBytes,
    int maxBacklog,
    Duration writeDelay,
    Duration cycleSuspicion,
    boolean overwriteNewer) {

  /** What the variables of a node begin with, in the environment. */
  public static final String VARIABLES = "EVERGREEN_NODE_";

  private static final Duration LONGEST = Duration.ofDays(36_500);

  /**
   * @throws IllegalArgumentException if a setting makes no sense; the message names it
   */
  public NodeSettings {
    requirePositive("callTimeout", callTimeout);
    requirePositive("idleAfter", idleAfter);
    requirePositive("renewEvery", renewEvery);
    requirePositive("leaseFor", leaseFor);
    requirePositive("pushRetryAfter", pushRetryAfter);
    requirePositive("cycleSuspicion", cycleSuspicion);
    requireNotNegative("stopGrace", stopGrace);
    requireNotNegative("cacheGrace", cacheGrace);
    requireNotNegative("pushRoundTrip", pushRoundTrip);
    requireNotNegative("writeDelay", writeDelay);
    requirePositive("maxValueBytes", maxValueBytes);
    requirePositive("maxWaitingCalls", maxWaitingCalls);
    requirePositive("maxCallsInFlight", maxCallsInFlight);
    requirePositive("maxBatchBytes", maxBatchBytes);
    requirePositive("maxBacklog", maxBacklog);
  }

  private static void requirePositive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(name + " must be positive, but was " + value);
    }
  }

  private static void requirePositive(String name, Duration value) {
    requireNotNegative(name, value);
    if (value.isZero()) {
      throw new IllegalArgumentException(name + " must be positive, but was " + value);
    }
  }

  private static void requireNotNegative(String name, Duration value) {
    if (value.isNegative() || value.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          name + " must be between zero and " + LONGEST.toDays() + " days, but was " + value);
    }
  }

  /** What is right for most. */
  public static final NodeSettings DEFAULT =
      new NodeSettings(
          Duration.ofSeconds(30),
          Duration.ofMinutes(10),
          Duration.ofSeconds(5),
          16 << 20,
          10_000,
          10_000,
          Duration.ofSeconds(1),
          Duration.ofSeconds(30),
          Duration.ofSeconds(90),
          Duration.ofSeconds(2),
          Duration.ofMillis(50),
          1 << 20,
          1_000,
          Duration.ofMillis(100),
          Duration.ofMillis(200),
          false);

  /** These settings with another {@code callTimeout}. */
  public NodeSettings withCallTimeout(Duration value) {
    return with(copy -> copy.callTimeout = value);
  }

  /** These settings with another {@code idleAfter}. */
  public NodeSettings withIdleAfter(Duration value) {
    return with(copy -> copy.idleAfter = value);
  }

  /** These settings with another {@code stopGrace}. */
  public NodeSettings withStopGrace(Duration value) {
    return with(copy -> copy.stopGrace = value);
  }

  /** These settings with another {@code maxValueBytes}. */
  public NodeSettings withMaxValueBytes(int value) {
    return with(copy -> copy.maxValueBytes = value);
  }

  /** These settings with another {@code maxWaitingCalls}. */
  public NodeSettings withMaxWaitingCalls(int value) {
    return with(copy -> copy.maxWaitingCalls = value);
  }

  /** These settings with another {@code maxCallsInFlight}. */
  public NodeSettings withMaxCallsInFlight(int value) {
    return with(copy -> copy.maxCallsInFlight = value);
  }

  /** These settings with another {@code cacheGrace}. */
  public NodeSettings withCacheGrace(Duration value) {
    return with(copy -> copy.cacheGrace = value);
  }

  /** These settings with another {@code renewEvery}. */
  public NodeSettings withRenewEvery(Duration value) {
    return with(copy -> copy.renewEvery = value);
  }

  /** These settings with another {@code leaseFor}. */
  public NodeSettings withLeaseFor(Duration value) {
    return with(copy -> copy.leaseFor = value);
  }

  /** These settings with another {@code pushRetryAfter}. */
  public NodeSettings withPushRetryAfter(Duration value) {
    return with(copy -> copy.pushRetryAfter = value);
  }

  /** These settings with another {@code pushRoundTrip}. */
  public NodeSettings withPushRoundTrip(Duration value) {
    return with(copy -> copy.pushRoundTrip = value);
  }

  /** These settings with another {@code maxBatchBytes}. */
  public NodeSettings withMaxBatchBytes(int value) {
    return with(copy -> copy.maxBatchBytes = value);
  }

  /** These settings with another {@code maxBacklog}. */
  public NodeSettings withMaxBacklog(int value) {
    return with(copy -> copy.maxBacklog = value);
  }

  /** These settings with another {@code writeDelay}. */
  public NodeSettings withWriteDelay(Duration value) {
    return with(copy -> copy.writeDelay = value);
  }

  /** These settings with another {@code cycleSuspicion}. */
  public NodeSettings withCycleSuspicion(Duration value) {
    return with(copy -> copy.cycleSuspicion = value);
  }

  /** These settings with another {@code overwriteNewer}. */
  public NodeSettings withOverwriteNewer(boolean value) {
    return with(copy -> copy.overwriteNewer = value);
  }

  private NodeSettings with(Consumer<Copy> change) {
    var copy = new Copy(this);
    change.accept(copy);
    return copy.settings();
  }

  /** Settings on their way to others. */
  private static final class Copy {
    Duration callTimeout;
    Duration idleAfter;
    Duration stopGrace;
    int maxValueBytes;
    int maxWaitingCalls;
    int maxCallsInFlight;
    Duration cacheGrace;
    Duration renewEvery;
    Duration leaseFor;
    Duration pushRetryAfter;
    Duration pushRoundTrip;
    int maxBatchBytes;
    int maxBacklog;
    Duration writeDelay;
    Duration cycleSuspicion;
    boolean overwriteNewer;

    Copy(NodeSettings from) {
      callTimeout = from.callTimeout;
      idleAfter = from.idleAfter;
      stopGrace = from.stopGrace;
      maxValueBytes = from.maxValueBytes;
      maxWaitingCalls = from.maxWaitingCalls;
      maxCallsInFlight = from.maxCallsInFlight;
      cacheGrace = from.cacheGrace;
      renewEvery = from.renewEvery;
      leaseFor = from.leaseFor;
      pushRetryAfter = from.pushRetryAfter;
      pushRoundTrip = from.pushRoundTrip;
      maxBatchBytes = from.maxBatchBytes;
      maxBacklog = from.maxBacklog;
      writeDelay = from.writeDelay;
      cycleSuspicion = from.cycleSuspicion;
      overwriteNewer = from.overwriteNewer;
    }

    NodeSettings settings() {
      return new NodeSettings(
          callTimeout,
          idleAfter,
          stopGrace,
          maxValueBytes,
          maxWaitingCalls,
          maxCallsInFlight,
          cacheGrace,
          renewEvery,
          leaseFor,
          pushRetryAfter,
          pushRoundTrip,
          maxBatchBytes,
          maxBacklog,
          writeDelay,
          cycleSuspicion,
          overwriteNewer);
    }
  }
}

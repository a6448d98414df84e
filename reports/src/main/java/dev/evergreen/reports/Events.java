package dev.evergreen.reports;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/**
 * What a flight recording shows of a node ({@code docs/operations.md}). Without a recording an
 * event costs its allocation, which the compiler removes, and a check. Frequent ones have a
 * threshold, so that a recording with the default settings stays small and keeps what is slow.
 */
final class Events {

  private Events() {}

  @Name("dev.evergreen.Turn")
  @Label("Turn")
  @Category("Evergreen")
  @Description("An operation of a grain ran, saving included")
  @StackTrace(false)
  @Threshold("1 ms")
  static final class TurnRan extends Event {
    @Label("Grain")
    @Nullable String grain;

    @Label("Operation")
    @Nullable String operation;

    @Label("Read-Only")
    boolean readOnly;

    @Label("Waited")
    @Description("From its arrival at the grain until it began")
    @Timespan(Timespan.NANOSECONDS)
    long waited;

    @Label("Succeeded")
    boolean succeeded;

    /** Whether a recording is under way that has these. */
    static boolean wanted() {
      return new TurnRan().isEnabled();
    }

    void commitFor(GrainId id, String name, boolean reads, boolean returned) {
      if (shouldCommit()) {
        grain = id.toString();
        operation = name;
        readOnly = reads;
        succeeded = returned;
        commit();
      }
    }
  }

  @Name("dev.evergreen.Run")
  @Label("Run")
  @Category("Evergreen")
  @Description("A computation ran")
  @StackTrace(false)
  @Threshold("1 ms")
  static final class ComputationRan extends Event {
    @Label("Computation")
    @Nullable String computation;

    @Label("Reads From Caches")
    int hits;

    @Label("Awaited Reads")
    int misses;

    @Label("Discarded")
    @Description("By a write, while it ran")
    boolean discarded;

    /** Whether a recording is under way that has these. */
    static boolean wanted() {
      return new ComputationRan().isEnabled();
    }

    void commitFor(Object run, int taken, int awaited, boolean worthless) {
      if (shouldCommit()) {
        computation = run.toString();
        hits = taken;
        misses = awaited;
        discarded = worthless;
        commit();
      }
    }
  }

  @Name("dev.evergreen.Activation")
  @Label("Activation")
  @Category("Evergreen")
  @Description("A grain's object was made, its state loaded")
  @StackTrace(false)
  static final class Activated extends Event {
    @Label("Grain")
    @Nullable String grain;

    @Label("Succeeded")
    boolean succeeded;

    void commitFor(GrainId id, boolean active) {
      if (shouldCommit()) {
        grain = id.toString();
        succeeded = active;
        commit();
      }
    }
  }

  @Name("dev.evergreen.Save")
  @Label("Save")
  @Category("Evergreen")
  @Description("A grain's state was saved")
  @StackTrace(false)
  @Threshold("1 ms")
  static final class Saved extends Event {
    @Label("Grain")
    @Nullable String grain;

    @Label("Size")
    @DataAmount
    long size;

    @Label("Succeeded")
    boolean succeeded;

    /** Whether a recording is under way that has these. */
    static boolean wanted() {
      return new Saved().isEnabled();
    }

    void commitFor(GrainId id, int bytes, boolean saved) {
      if (shouldCommit()) {
        grain = id.toString();
        size = bytes;
        succeeded = saved;
        commit();
      }
    }
  }

  @Name("dev.evergreen.PushBatch")
  @Label("Push Batch")
  @Category("Evergreen")
  @Description("Results went to another node in one message")
  @StackTrace(false)
  static final class BatchSent extends Event {
    @Label("Node")
    @Nullable String node;

    @Label("Results")
    int results;

    static void commitFor(NodeId to, int updates) {
      var event = new BatchSent();
      if (event.shouldCommit()) {
        event.node = to.toString();
        event.results = updates;
        event.commit();
      }
    }
  }

  @Name("dev.evergreen.Renewal")
  @Label("Renewal")
  @Category("Evergreen")
  @Description("Subscriptions at another node were renewed")
  @StackTrace(false)
  static final class Renewed extends Event {
    @Label("Node")
    @Nullable String node;

    @Label("Subscriptions")
    int subscriptions;

    static void commitFor(NodeId publisher, int caches) {
      var event = new Renewed();
      if (event.shouldCommit()) {
        event.node = publisher.toString();
        event.subscriptions = caches;
        event.commit();
      }
    }
  }
}

package dev.evergreen.fibers;

import java.util.function.Supplier;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Period;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import jdk.jfr.Timespan;

/**
 * What a flight recording shows of processors. Without a recording an event costs its allocation,
 * which the compiler removes, and a check.
 */
final class Events {

  private Events() {}

  @Name("dev.evergreen.ProcessorSleep")
  @Label("Processor Sleep")
  @Category("Evergreen")
  @Description("A processor had nothing to do")
  @StackTrace(false)
  @Threshold("10 ms")
  static final class Slept extends Event {
    @Label("Processor")
    int processor;
  }

  @Name("dev.evergreen.ProcessorSteal")
  @Label("Processor Steal")
  @Category("Evergreen")
  @Description("An idle processor took a fiber from another one")
  @StackTrace(false)
  static final class Stole extends Event {
    @Label("Processor")
    int processor;

    @Label("From")
    int from;

    void tell(int thief, int victim) {
      if (shouldCommit()) {
        processor = thief;
        from = victim;
        commitIfPossible(this);
      }
    }
  }

  @Name("dev.evergreen.ProcessorHelp")
  @Label("Processor Help")
  @Category("Evergreen")
  @Description("A processor did for another one what had waited there beyond the bound")
  @StackTrace(false)
  static final class Helped extends Event {
    @Label("Processor")
    int processor;

    @Label("For")
    int other;

    @Label("Waited")
    @Timespan(Timespan.NANOSECONDS)
    long waited;

    void tell(int helper, int helped, long waitedNanos) {
      if (shouldCommit()) {
        processor = helper;
        other = helped;
        waited = waitedNanos;
        commitIfPossible(this);
      }
    }
  }

  /** Without memory for it the event is lost, not the task that its processor has just taken. */
  private static void commitIfPossible(Event event) {
    try {
      event.commit();
    } catch (OutOfMemoryError e) {
      Thread.onSpinWait();
    }
  }

  @Name("dev.evergreen.Processor")
  @Label("Processor")
  @Category("Evergreen")
  @Description("What a processor has done since its start")
  @StackTrace(false)
  @Period("5 s")
  static final class State extends Event {
    @Label("Processor")
    String processor = "";

    @Label("Ready")
    @Description("Fibers that wait for it")
    int ready;

    @Label("Oldest Wait")
    @Timespan(Timespan.NANOSECONDS)
    long oldestWait;

    @Label("Runs")
    long runs;

    @Label("Polls")
    long polls;

    @Label("Sleeps")
    long sleeps;

    @Label("Steals")
    long steals;

    @Label("Helps")
    long helps;

    @Label("Posts")
    long posts;
  }

  /** Has recordings ask what processors do; answers what ends that. */
  static Runnable tell(String name, Supplier<FibersReport> report) {
    Runnable hook = () -> commit(name, report.get());
    FlightRecorder.addPeriodicEvent(State.class, hook);
    return () -> FlightRecorder.removePeriodicEvent(hook);
  }

  private static void commit(String name, FibersReport report) {
    int index = 0;
    for (var processor : report.processors()) {
      var event = new State();
      event.processor = name + "-" + index++;
      event.ready = processor.ready();
      event.oldestWait = processor.oldestWait().toNanos();
      event.runs = processor.runs();
      event.polls = processor.polls();
      event.sleeps = processor.sleeps();
      event.steals = processor.steals();
      event.helps = processor.helps();
      event.posts = processor.posts();
      event.commit();
    }
  }
}

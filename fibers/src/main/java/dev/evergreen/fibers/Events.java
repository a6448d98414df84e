package dev.evergreen.fibers;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
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
  }
}

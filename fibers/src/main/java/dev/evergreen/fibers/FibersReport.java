package dev.evergreen.fibers;

import java.time.Duration;
import java.util.List;

/**
 * What a runtime does. The numbers are taken one after the other while it goes on.
 *
 * @param fibers how many fibers live
 * @param processors what each processor does; empty in mode JDK
 */
public record FibersReport(int fibers, List<ProcessorReport> processors) {

  public FibersReport {
    processors = List.copyOf(processors);
  }

  /**
   * What one processor does. All but the first two are totals since its start.
   *
   * @param ready how many fibers wait in its queue
   * @param oldestWait how long the first of them has waited
   * @param runs how often it ran a fiber, until that waited, yielded or ended
   * @param polls how often it asked for events, its own or another's
   * @param sleeps how often it had nothing to do
   * @param steals how often it took a fiber from another one, being idle
   * @param helps how often it did what had waited beyond the bound at another one
   * @param posts how often a fiber left it what it had written, to leave with others' ({@link
   *     Fibers.Io#IO_URING})
   */
  public record ProcessorReport(
      int ready,
      Duration oldestWait,
      long runs,
      long polls,
      long sleeps,
      long steals,
      long helps,
      long posts) {}
}

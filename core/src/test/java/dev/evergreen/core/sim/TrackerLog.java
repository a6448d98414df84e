package dev.evergreen.core.sim;

import org.jspecify.annotations.Nullable;

/** What one tracker has delivered. */
final class TrackerLog {

  private final App app;
  private final Watch watch;
  private final String name;
  private @Nullable Seen last;
  private int count;
  private boolean timedOut;

  TrackerLog(App app, Watch watch, String name) {
    this.app = app;
    this.watch = watch;
    this.name = name;
  }

  @Nullable Seen last() {
    return last;
  }

  /** Whether a time-out was among the results. */
  boolean timedOut() {
    return timedOut;
  }

  int count() {
    return count;
  }

  /** Whether it is another result than the last one. */
  boolean isOther(Seen next) {
    var before = last;
    return before == null || !(before.equals(next) || isSameByComparer(before, next));
  }

  void deliver(Seen next) {
    app.trace(watch.node().toString(), name + " delivers " + next);
    var before = last;
    if (before != null) {
      checkNews(before, next);
      checkOrder(before, next);
    }
    last = next;
    timedOut |= next.text().startsWith("GrainTimeoutException");
    count++;
  }

  private void checkNews(Seen before, Seen next) {
    boolean runtimeFailed = next.failed() && !next.isRefusal();
    if (before.equals(next) && !runtimeFailed) {
      app.violation("1: " + name + " delivered the same result twice in a row: " + next);
    }
    if (isSameByComparer(before, next)) {
      app.violation(
          "1: " + name + " delivered " + next + " after " + before + ", the same by its comparer");
    }
  }

  private boolean isSameByComparer(Seen before, Seen next) {
    return watch.query() instanceof Query.ParityOf
        && !before.failed()
        && !next.failed()
        && ((Long.parseLong(before.text()) ^ Long.parseLong(next.text())) & 1) == 0;
  }

  private void checkOrder(Seen before, Seen next) {
    if (watch.query() instanceof Query.VersionOf
        && !app.scenario().profile().split()
        && !before.failed()
        && !next.failed()
        && Long.parseLong(next.text()) < Long.parseLong(before.text())) {
      app.violation("2: " + name + " went back from version " + before + " to " + next);
    }
  }
}

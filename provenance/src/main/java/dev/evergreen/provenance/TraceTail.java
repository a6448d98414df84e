package dev.evergreen.provenance;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Follows a trace: gives operations in their order, each once, and with its reply if one comes. */
public final class TraceTail {
  /** So long is a reply waited for before an operation is given without. */
  private static final Duration REPLY_PATIENCE = Duration.ofSeconds(1);

  private long next;

  /** What comes from a row on. */
  public TraceTail(long from) {
    next = from;
  }

  /** The row that is looked for next. */
  public long row() {
    return next;
  }

  /** What has come, at most so many; none if nothing has, or a reply is waited for. */
  public List<Operation> next(StoredTrace trace, int most) {
    var page = trace.from(next, most);
    int ready = 0;
    while (ready < page.size() && !isAwaited(page.get(ready))) {
      next = page.get(ready++).row() + 1;
    }
    return page.subList(0, ready);
  }

  /**
   * Leaves out what has come but for the newest, for whoever only looks.
   *
   * @return how many operations were left out
   */
  public long skipTo(StoredTrace trace, int newest) {
    var last = trace.last(newest);
    if (last.size() < newest || last.getFirst().row() <= next) {
      return 0;
    }
    long skipped = trace.count(next, last.getFirst().row());
    next = last.getFirst().row();
    return skipped;
  }

  private static boolean isAwaited(Operation operation) {
    return operation.outcomeUnknown()
        && operation.sent().plus(REPLY_PATIENCE).isAfter(Instant.now());
  }
}

package dev.evergreen.cluster;

import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.work.Workers;

/**
 * The mandate where the storage cannot fence: who can acknowledge nothing any more is known by
 * time, as {@link Tenure} says. It holds as long as this machine's monotonic clock does not stand
 * still while other machines' clocks go on.
 *
 * <p>Before it looks how long it has to wait, this node has been told whatever Pekko has decided by
 * then: so of those who had what it is to own it knows that they were given up. A coordinator that
 * is new keeps no margin for whom it has never heard of, and events may be late.
 *
 * @param toldAll waits until this node was told of all that Pekko had decided before this was
 *     called; throws an {@link IllegalStateException} if that cannot be known now
 */
record PingedMandate(Storage storage, Tenure tenure, Workers workers, Runnable toldAll)
    implements Mandate {

  private static final long AGAIN_NANOS = 100_000_000;

  @Override
  public boolean confirmed() {
    return tenure.confirmed();
  }

  @Override
  public boolean takeOver() {
    while (!tenure.isOver() && !isToldAll()) {
      workers.threads().parkNanos(AGAIN_NANOS);
    }
    for (long left = nanosLeft(); left > 0; left = nanosLeft()) {
      workers.threads().parkNanos(left);
    }
    return !tenure.isOver();
  }

  /** None where nobody tells this node any more that all have seen whom they gave up. */
  private long nanosLeft() {
    return tenure.isOver() ? 0 : tenure.nanosUntilTakeover();
  }

  private boolean isToldAll() {
    try {
      toldAll.run();
      return true;
    } catch (IllegalStateException e) {
      return false;
    }
  }

  @Override
  public void end() {}
}

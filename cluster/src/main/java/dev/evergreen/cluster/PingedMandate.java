package dev.evergreen.cluster;

import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.work.Workers;

/**
 * The mandate where the storage cannot fence: who can acknowledge nothing any more is known by
 * time, as {@link Tenure} says. It holds as long as this machine's monotonic clock does not stand
 * still while other machines' clocks go on.
 */
record PingedMandate(Storage storage, Tenure tenure, Workers workers) implements Mandate {

  @Override
  public boolean confirmed() {
    return tenure.confirmed();
  }

  @Override
  public boolean takeOver() {
    for (long left = tenure.nanosUntilTakeover(); left > 0; left = tenure.nanosUntilTakeover()) {
      workers.threads().parkNanos(left);
    }
    return true;
  }

  @Override
  public void end() {}
}

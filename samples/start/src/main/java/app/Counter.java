package app;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;

/** Counts; there is one for each key. */
public interface Counter extends Grain {

  /** What was counted so far. */
  @ReadOnly
  long value();

  /** Counts so many more. */
  void add(long n);
}

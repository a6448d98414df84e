package dev.evergreen.telemetry;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;

/** A small grain to measure. */
public interface Counter extends Grain {
  @ReadOnly
  int value();

  void add(int number);
}

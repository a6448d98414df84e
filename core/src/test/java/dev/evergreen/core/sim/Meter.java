package dev.evergreen.core.sim;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;

/** Shows a number of the outside world, and tells the runtime when it has changed. */
interface Meter extends Grain {

  @ReadOnly
  long reading();
}

package dev.evergreen.core.sim;

import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.ReadOnly;
import java.util.List;

/** A result computed from other grains, as a program in its state says. */
interface Formula extends KeyedGrain<Long> {

  /** A formula's state; as {@link Cell.Contents}. */
  record Contents(List<Step> program, long version, List<Long> applied) {
    static final Contents EMPTY = new Contents(List.of(), 0, List.of());
  }

  @ReadOnly
  long value(int argument) throws Refused;

  @ReadOnly
  long parity(int argument) throws Refused;

  /** The value, with the state's versions at begin and end of the operation. */
  @ReadOnly
  Audit audit(int argument) throws Refused;

  @ReadOnly
  Contents contents();

  /** Returns the new version. */
  long rewire(long action, List<Step> program);

  /** Reads other grains, and sets a cell to what this one's value is. */
  long store(long action, String cell) throws Refused;
}

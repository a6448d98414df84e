package dev.evergreen.core.sim;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.SameBy;
import java.util.List;
import java.util.function.BiPredicate;

/** A small number that many write and read. */
interface Cell extends Grain {

  int LIMIT = 20;

  /**
   * A cell's state.
   *
   * @param version grows by one with every change
   * @param applied the numbers of the actions that made it what it is, in order
   */
  record Contents(long value, long version, List<Long> applied) {
    static final Contents EMPTY = new Contents(0, 0, List.of());

    Contents with(long action, long newValue) {
      return new Contents(
          Math.floorMod(newValue, (long) LIMIT), version + 1, Lists.append(applied, action));
    }
  }

  @ReadOnly
  long value() throws Refused;

  /** A filter: often the same when the value differs. */
  @ReadOnly
  long parity();

  /** Values of the same ten are the same. */
  @ReadOnly
  @SameBy(SameTen.class)
  long rough();

  /** The value, with the state's versions at begin and end of the operation. */
  @ReadOnly
  Audit audit();

  @ReadOnly
  Contents contents();

  /** Returns the new version. */
  long add(long action, long amount);

  /** Returns the new version. */
  long set(long action, long value);

  /** Writes what is there; returns its version. */
  long touch();

  /** Ends this activation. */
  void retire();

  /** Changes the state, then throws. */
  void changeAndFail(long action) throws Refused;

  /** Compares by the ten. */
  final class SameTen implements BiPredicate<Long, Long> {
    @Override
    public boolean test(Long a, Long b) {
      Scheduler.compares();
      return a / 10 == b / 10;
    }
  }
}

package dev.evergreen.bench;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.ReadOnly;

/** Writes to items of its own process, and says when it began to. */
interface Writer extends Grain {

  /**
   * Sets an item's value.
   *
   * @param notify whether by the operation that tells the item's observers
   * @return when the write was called, by {@link System#nanoTime}, which all processes of a Linux
   *     machine share
   */
  long write(String item, int value, boolean notify);

  /** The process that it is active in. */
  @ReadOnly
  long process();

  /** Its implementation. */
  final class WriterGrain implements Writer {
    private final Grains grains;

    WriterGrain(GrainContext<String> context) {
      grains = context.grains();
    }

    @Override
    public long write(String item, int value, boolean notify) {
      var target = grains.get(Item.class, item);
      long start = System.nanoTime();
      if (notify) {
        target.setAndNotify(value);
      } else {
        target.set(value);
      }
      return start;
    }

    @Override
    public long process() {
      return ProcessHandle.current().pid();
    }
  }
}

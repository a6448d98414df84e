package dev.evergreen.bench;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.ReadOnly;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** What views depend on (004 §6). Without storage, so that only propagation is measured. */
interface Item extends Grain {

  @ReadOnly
  int value();

  /** The value times a factor: a read with an argument. */
  @ReadOnly
  int times(int factor);

  /** The process that it is active in. */
  @ReadOnly
  long process();

  void set(int value);

  /** Explicit propagation: the view is told of every change that {@link #setAndNotify} makes. */
  void observe(String view);

  void setAndNotify(int value);

  /** Its implementation. */
  final class ItemGrain implements Item {
    static final LongAdder READS = new LongAdder();

    private final GrainContext<String> context;
    private final Grains grains;
    private final List<View> observers = new ArrayList<>();
    private int value;

    ItemGrain(GrainContext<String> context) {
      this.context = context;
      this.grains = context.grains();
    }

    @Override
    public int value() {
      READS.increment();
      return value;
    }

    @Override
    public int times(int factor) {
      return value * factor;
    }

    @Override
    public long process() {
      return ProcessHandle.current().pid();
    }

    @Override
    public void set(int value) {
      this.value = value;
    }

    @Override
    public void observe(String view) {
      observers.add(grains.get(View.class, view));
    }

    @Override
    public void setAndNotify(int value) {
      this.value = value;
      for (var view : observers) {
        view.changed(context.key(), value);
      }
    }
  }
}

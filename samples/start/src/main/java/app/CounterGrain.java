package app;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.State;

final class CounterGrain implements Counter {

  record Count(long value) {}

  private final State<Count> count;

  CounterGrain(GrainContext<String> context) {
    count = context.state(Count.class, new Count(0));
  }

  @Override
  public long value() {
    return count.get().value();
  }

  @Override
  public void add(long n) {
    count.update(before -> new Count(before.value() + n));
  }
}

package dev.evergreen.telemetry;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.State;

final class CounterGrain implements Counter {

  record Total(int value) {}

  private final State<Total> state;

  CounterGrain(GrainContext<String> context) {
    state = context.state(Total.class, new Total(0));
  }

  @Override
  public int value() {
    return state.get().value();
  }

  @Override
  public void add(int number) {
    if (number < 0) {
      throw new IllegalArgumentException("not " + number);
    }
    state.set(new Total(state.get().value() + number));
  }
}

package dev.evergreen.core.sim;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

final class RingGrain implements Ring {

  /**
   * The state.
   *
   * @param halfDone whether an operation is in the middle of changing it
   */
  record Contents(int twins, boolean halfDone) {}

  private final GrainContext<String> context;
  private final App app;
  private final State<Contents> state;

  RingGrain(GrainContext<String> context, App app) {
    this.context = context;
    this.app = app;
    this.state = context.state(Contents.class, new Contents(0, false));
  }

  @Override
  public Set<Twin> twins() {
    app.executed("Ring/" + context.key());
    var twins = new HashSet<Twin>();
    for (int i = 0; i < state.get().twins(); i++) {
      twins.add(new Twin("twin"));
    }
    return twins;
  }

  @Override
  public void more() {
    state.set(new Contents(state.get().twins() + 1, false));
  }

  @Override
  public void ask(String other, Duration patience) {
    try {
      context.grains().withTimeout(patience).get(Ring.class, other).back(context.key(), patience);
    } catch (GrainTimeoutException e) {
      app.trace(context.key(), "gives up: " + e.getMessage());
    }
  }

  @Override
  public void back(String ring, Duration after) {
    context.sleep(after.multipliedBy(2));
    context.grains().get(Ring.class, ring).enter();
  }

  @Override
  public void enter() {
    if (state.get().halfDone()) {
      app.violation("3: a chain enters " + context.key() + " beside another one's write");
    }
  }

  @Override
  public void halfDone(Duration span) {
    state.set(new Contents(state.get().twins(), true));
    context.sleep(span);
    throw new Refused("only half done");
  }
}

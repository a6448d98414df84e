package dev.evergreen.core.sim;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

final class RingGrain implements Ring {

  private final GrainContext<String> context;
  private final App app;
  private final State<Contents> state;

  /** The chains that are in the middle of a change, one entry for each operation. */
  private final Deque<Long> inside = new ArrayDeque<>();

  RingGrain(GrainContext<String> context, App app) {
    this.context = context;
    this.app = app;
    this.state = context.state(Contents.class, Contents.EMPTY);
  }

  @Override
  public Set<Twin> twins() {
    app.executed(toString());
    var twins = new HashSet<Twin>();
    for (int i = 0; i < state.get().twins(); i++) {
      twins.add(new Twin("twin"));
    }
    return twins;
  }

  @Override
  public long version() {
    app.executed(toString());
    app.noise();
    return state.get().version();
  }

  @Override
  public Contents contents() {
    return state.get();
  }

  @Override
  public void more() {
    var now = state.get();
    int twins = (now.twins() + 1) % (MOST_TWINS + 1);
    state.set(new Contents(twins, false, now.version(), now.applied()));
  }

  @Override
  public long nest(long action, Course course) {
    if (!inside.stream().allMatch(chain -> chain == course.chain())) {
      app.violation("3: chain " + course.chain() + " enters " + this + " beside " + inside);
    }
    inside.push(course.chain());
    try {
      return change(action, course);
    } finally {
      inside.pop();
    }
  }

  private long change(long action, Course course) {
    app.noise();
    var now = state.get();
    long version = now.version() + 1;
    state.set(
        new Contents(now.twins(), now.halfDone(), version, Lists.append(now.applied(), action)));
    app.noise();
    if (!course.rings().isEmpty()) {
      callNext(action + 1, course);
    }
    if (course.failing().contains((int) (action - course.chain()))) {
      throw new Refused("asked to fail by " + action);
    }
    return version;
  }

  private void callNext(long action, Course course) {
    var next = course.rings().getFirst();
    var ring = context.grains().withTimeout(course.patience()).get(Ring.class, next);
    try {
      app.writeNested(
          "Ring/" + next,
          action,
          course.rings().lastIndexOf(next) > 0,
          () -> ring.nest(action, course.rest()));
    } catch (SimulationFailure e) {
      throw e;
    } catch (RuntimeException e) {
      app.trace(toString(), "goes on without action " + action + ": " + Seen.failure(e));
    }
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
    var now = state.get();
    state.set(new Contents(now.twins(), true, now.version(), now.applied()));
    context.sleep(span);
    throw new Refused("only half done");
  }

  @Override
  public String toString() {
    return "Ring/" + context.key();
  }
}

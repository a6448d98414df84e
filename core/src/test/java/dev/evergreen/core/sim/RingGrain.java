package dev.evergreen.core.sim;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;

final class RingGrain implements Ring {

  private final GrainContext<String> context;
  private final App app;
  private final State<Contents> state;

  /** What is being done in chains, the latest first. */
  private final Deque<Course> inside = new ArrayDeque<>();

  /** What another branch of the same chain has entered beside. */
  private final Map<Course, Course> beside = new HashMap<>();

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
  public long nest(Course course) {
    return enter(course, () -> change(course));
  }

  @Override
  public long glance(Course course) {
    return enter(course, () -> look(course));
  }

  private long enter(Course course, LongSupplier work) {
    for (var other : inside) {
      boolean alone = !(other.reads() && course.reads()) && !other.leadsTo(course);
      if (alone && other.chain() != course.chain()) {
        app.violation("3: " + course + " enters " + this + " beside " + other);
      }
      if (alone) {
        beside.put(other, course);
      }
    }
    inside.push(course);
    try {
      return work.getAsLong();
    } finally {
      inside.remove(course);
      beside.remove(course);
    }
  }

  private long look(Course course) {
    app.noise();
    checkAlone(course);
    return state.get().version();
  }

  private long change(Course course) {
    app.noise();
    var now = state.get();
    long version = now.version() + 1;
    state.set(
        new Contents(
            now.twins(), now.halfDone(), version, Lists.append(now.applied(), course.action())));
    app.noise();
    callNext(course);
    checkAlone(course);
    if (course.task() == Task.FAIL) {
      throw new Refused("asked to fail by " + course.action());
    }
    return version;
  }

  /** That no other branch of the chain has come in while this one was inside. */
  private void checkAlone(Course course) {
    // Fails if this one is not inside any more, so that the other one might come in.
    var _ = state.get();
    var other = beside.get(course);
    if (other != null) {
      app.violation("3: " + other + " has entered " + this + " beside " + course);
    }
  }

  private void callNext(Course course) {
    var next = course.next();
    if (next.size() == 1) {
      call(next.getFirst(), course.patience());
    } else if (course.task() == Task.CHANGE_IN_HASTE && !next.isEmpty()) {
      callAndAwaitFirst(course);
    } else {
      Parallel.forEach(next, branch -> call(branch, course.patience()));
    }
  }

  private void callAndAwaitFirst(Course course) {
    var branches = new ArrayList<Callable<Boolean>>();
    course.next().forEach(next -> branches.add(() -> call(next, course.patience())));
    try {
      Parallel.first(branches);
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Whether the call has returned. */
  private boolean call(Course next, Duration patience) {
    var ring = context.grains().withTimeout(patience).get(Ring.class, next.ring());
    try {
      if (next.reads()) {
        ring.glance(next);
      } else {
        app.writeNested(
            "Ring/" + next.ring(), next.action(), next.comesBack(), () -> ring.nest(next));
      }
      return true;
    } catch (SimulationFailure e) {
      throw e;
    } catch (RuntimeException e) {
      app.trace(toString(), "goes on without " + next.action() + ": " + Seen.failure(e));
      return false;
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

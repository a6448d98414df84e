package dev.evergreen.core.sim;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.State;
import java.time.Duration;

final class CellGrain implements Cell {

  private static final long BAD = 7;

  private final GrainContext<String> context;
  private final App app;
  private final State<Contents> state;

  CellGrain(GrainContext<String> context, App app) {
    this.context = context;
    this.app = app;
    this.state = context.state(Contents.class, Contents.EMPTY);
  }

  @Override
  public long value() {
    executes();
    return valueOf(state.get(), context.key(), app.scenario().failing());
  }

  /** What {@link #value} makes of a state. */
  static long valueOf(Contents contents, String key, boolean failing) {
    if (failing && contents.value() == BAD) {
      throw new Refused("cell " + key + " is " + BAD);
    }
    return contents.value();
  }

  @Override
  public long parity() {
    executes();
    return state.get().value() & 1;
  }

  @Override
  public long rough() {
    executes();
    return state.get().value();
  }

  @Override
  public Audit audit() {
    executes();
    var before = state.get();
    if (app.random().nextInt(3) == 0) {
      var nap = Duration.ofNanos(app.random().nextLong(5_000_000));
      app.callers().sleep(() -> context.sleep(nap));
    }
    var after = state.get();
    return new Audit(after.value(), before.version(), after.version());
  }

  @Override
  public Contents contents() {
    return state.get();
  }

  @Override
  public long add(long action, long amount) {
    app.effect(action, before -> before + amount);
    app.noise();
    var now = state.get();
    state.set(now.with(action, now.value() + amount));
    app.noise();
    return now.version() + 1;
  }

  @Override
  public long set(long action, long value) {
    app.effect(action, before -> value);
    app.noise();
    var now = state.get();
    state.set(now.with(action, value));
    app.noise();
    return now.version() + 1;
  }

  @Override
  public long touch() {
    state.set(state.get());
    return state.get().version();
  }

  @Override
  public void retire() {
    context.deactivate();
  }

  @Override
  public void changeAndFail(long action) {
    var now = state.get();
    state.set(now.with(action, now.value() + 1));
    app.noise();
    throw new Refused("asked to fail by " + action);
  }

  private void executes() {
    app.executed("Cell/" + context.key());
    app.noise();
  }
}

package dev.evergreen.core.sim;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.State;
import java.util.List;
import org.jspecify.annotations.Nullable;

final class FormulaGrain implements Formula {

  private final GrainContext<Long> context;
  private final App app;
  private final @Nullable Stalls stalls;
  private final State<Contents> state;

  FormulaGrain(GrainContext<Long> context, App app, @Nullable Stalls stalls) {
    this.context = context;
    this.app = app;
    this.stalls = stalls;
    this.state = context.state(Contents.class, initial(context.key(), app));
  }

  private static Contents initial(long key, App app) {
    var program = app.wiring().initialProgram(key);
    app.programmed(key, program);
    return new Contents(program, 0, List.of());
  }

  @Override
  public long value(int argument) {
    executes();
    return run(argument);
  }

  @Override
  public long parity(int argument) {
    executes();
    return run(argument) & 1;
  }

  @Override
  public Audit audit(int argument) {
    executes();
    long before = state.get().version();
    long value = run(argument);
    return new Audit(value, before, state.get().version());
  }

  @Override
  public Contents contents() {
    return state.get();
  }

  @Override
  public long rewire(long action, List<Step> program) {
    app.noise();
    return change(action, program);
  }

  @Override
  public long store(long action, String cell) {
    long value = run(1);
    app.write("Cell/" + cell, action + 1, () -> cell(cell).set(action + 1, value));
    return change(action, state.get().program());
  }

  private Cell cell(String key) {
    return context.grains().get(Cell.class, key);
  }

  private long change(long action, List<Step> program) {
    var now = state.get();
    app.programmed(context.key(), program);
    state.set(new Contents(program, now.version() + 1, Lists.append(now.applied(), action)));
    return now.version() + 1;
  }

  private long run(int argument) {
    boolean hurries = !app.patient();
    var reader =
        new LiveReader(
            app, stalls, context.grains(), true, hurries, hurries ? context::sleep : any -> {});
    return Program.run(state.get().program(), context.key(), argument, reader);
  }

  private void executes() {
    app.executed("Formula/" + context.key());
    app.noise();
  }
}

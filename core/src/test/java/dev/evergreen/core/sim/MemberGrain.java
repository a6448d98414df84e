package dev.evergreen.core.sim;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.State;
import java.util.List;

final class MemberGrain implements Member {

  private final GrainContext<String> context;
  private final App app;
  private final State<Reads> state;

  MemberGrain(GrainContext<String> context, App app) {
    this.context = context;
    this.app = app;
    this.state = context.state(Reads.class, Reads.NOTHING);
  }

  @Override
  public int value() {
    return compute(Member::value);
  }

  @Override
  public int compared() {
    return compute(Member::compared);
  }

  private int compute(Operation how) {
    app.executed("Member/" + context.key());
    app.noise();
    var reads = state.get();
    int sum =
        switch (reads.way()) {
          case IN_TURN -> reads.others().stream().mapToInt(other -> valueOf(other, how)).sum();
          case TOGETHER ->
              Parallel.map(reads.others(), other -> valueOf(other, how)).stream()
                  .mapToInt(n -> n)
                  .sum();
          case ALL -> sumOfAll(reads.others(), how, false);
          case CATCHING -> sumOfAll(reads.others(), how, true);
        };
    return (reads.own() + sum) % LIMIT;
  }

  private int valueOf(String other, Operation how) {
    return how.applyAsInt(context.grains().get(Member.class, other));
  }

  private int sumOfAll(List<String> others, Operation how, boolean catching) {
    int sum = 0;
    CycleException first = null;
    for (var other : others) {
      try {
        sum += valueOf(other, how);
      } catch (CycleException e) {
        first = first == null ? e : first;
        sum += CAUGHT;
      }
    }
    if (first != null && !catching) {
      throw first;
    }
    return sum;
  }

  @Override
  public Reads reads() {
    return state.get();
  }

  @Override
  public void read(Reads reads) {
    app.noise();
    state.set(reads);
  }

  @Override
  public void touch() {}
}

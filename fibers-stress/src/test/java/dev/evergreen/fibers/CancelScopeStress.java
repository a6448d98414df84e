package dev.evergreen.fibers;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.evergreen.fibers.CancelScope.Bound;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.Z_Result;

/** Waits that are cancelled while they begin. */
public final class CancelScopeStress {

  private CancelScopeStress() {}

  @JCStressTest
  @Description("A wait in two scopes ends, whenever the outer one is cancelled.")
  @Outcome(id = "true", expect = ACCEPTABLE, desc = "ended")
  @Outcome(expect = FORBIDDEN, desc = "told that it was interrupted")
  @State
  public static class CancellationIsNotLost {
    private final CancelScope outer = CancelScope.open();
    private final Bound bound = new Bound(CancelScope.open(), new Bound(outer, null));
    private final Gate gate = new Gate();

    @Actor
    public void wait(Z_Result r) {
      Runnable wake = gate::open;
      bound.begin(wake);
      r.r1 = gate.await();
      bound.end(wake);
    }

    @Actor
    public void cancel() {
      outer.cancel();
    }
  }
}

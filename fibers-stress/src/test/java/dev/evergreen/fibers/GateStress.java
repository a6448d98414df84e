package dev.evergreen.fibers;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/** Where a fiber waits for a direction of its socket. */
public final class GateStress {

  private GateStress() {}

  @JCStressTest
  @Description("Who waits is let through by an opening, whenever that comes.")
  @Outcome(id = "true", expect = ACCEPTABLE, desc = "let through")
  @Outcome(expect = FORBIDDEN, desc = "told that it was interrupted")
  @State
  public static class OpeningIsNotLost {
    private final Gate gate = new Gate();

    @Actor
    public void wait(Z_Result r) {
      r.r1 = gate.await();
    }

    @Actor
    public void open() {
      gate.open();
    }
  }

  @JCStressTest
  @Description("Whoever passes sees what happened before the opening, also if it was open already.")
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "seen")
  @Outcome(expect = FORBIDDEN, desc = "lost: it will wait for ever")
  @State
  public static class WhatCameBeforeIsSeen {
    private final Gate gate = new Gate();
    private volatile int data;

    public WhatCameBeforeIsSeen() {
      gate.open();
    }

    @Actor
    public void bring() {
      data = 1;
      gate.open();
    }

    @Actor
    public void take(I_Result r) {
      while (data == 0) {
        if (!gate.await()) {
          return;
        }
      }
      r.r1 = data;
    }
  }

  @JCStressTest
  @Description("Two openings let one through once or twice, but never none.")
  @Outcome(
      id = {"true, true", "true, false"},
      expect = ACCEPTABLE,
      desc = "let through")
  @Outcome(expect = FORBIDDEN, desc = "not let through")
  @State
  public static class TwoOpen {
    private final Gate gate = new Gate();

    @Actor
    public void open() {
      gate.open();
      gate.open();
    }

    @Actor
    public void wait(ZZ_Result r) {
      r.r1 = gate.await();
    }

    @Arbiter
    public void left(ZZ_Result r) {
      r.r2 = gate.pass();
    }
  }

  @JCStressTest
  @Description("An interruption ends the wait, and an opening at the same time is kept or used.")
  @Outcome(
      id = {"1, 0", "0, 1"},
      expect = ACCEPTABLE,
      desc = "used, or kept")
  @Outcome(expect = FORBIDDEN, desc = "lost, or there twice")
  @State
  public static class InterruptedWait {
    private final Gate gate = new Gate();

    @Actor
    public void wait(II_Result r) {
      Thread.currentThread().interrupt();
      r.r1 = gate.await() ? 1 : 0;
      var _ = Thread.interrupted();
    }

    @Actor
    public void open() {
      gate.open();
    }

    @Arbiter
    public void left(II_Result r) {
      r.r2 = gate.pass() ? 1 : 0;
    }
  }
}

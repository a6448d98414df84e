package dev.evergreen.fibers;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.evergreen.kernel.PollCalls;
import java.nio.channels.ClosedChannelException;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** Descriptors that are closed while they are used. */
public final class DescriptorStress {

  private static final Descriptors TABLE = new Descriptors();

  private DescriptorStress() {}

  /** A real number, so that giving it back too early or twice could hit another one. */
  private static Descriptor open() {
    return Descriptor.of(TABLE, PollCalls.openEvent(Carrier.currentScratch()));
  }

  @JCStressTest
  @Description("While somebody is inside, the number is not given back; afterwards it is.")
  @Outcome(
      id = {"1, 0", "2, 0"},
      expect = ACCEPTABLE,
      desc = "it was its own while used, or closed before; it is given back")
  @Outcome(expect = FORBIDDEN, desc = "given back under a use, or never")
  @State
  public static class CloseUnderUse {
    private final Descriptor descriptor = open();

    @Actor
    public void use(II_Result r) {
      try {
        descriptor.enter();
      } catch (ClosedChannelException e) {
        r.r1 = 2;
        return;
      }
      r.r1 = TABLE.find(descriptor.key()) == descriptor ? 1 : 3;
      descriptor.leave();
    }

    @Actor
    public void close() {
      descriptor.close();
    }

    @Arbiter
    public void rest(II_Result r) {
      r.r2 = TABLE.find(descriptor.key()) == null ? 0 : 1;
    }
  }

  @JCStressTest
  @Description("Of two who close, one does.")
  @Outcome(
      id = {"1, 0, 0", "0, 1, 0"},
      expect = ACCEPTABLE,
      desc = "one did")
  @Outcome(expect = FORBIDDEN, desc = "both, or none")
  @State
  public static class TwoClose {
    private final Descriptor descriptor = open();

    @Actor
    public void one(III_Result r) {
      r.r1 = descriptor.close() ? 1 : 0;
    }

    @Actor
    public void two(III_Result r) {
      r.r2 = descriptor.close() ? 1 : 0;
    }

    @Arbiter
    public void rest(III_Result r) {
      r.r3 = TABLE.find(descriptor.key()) == null ? 0 : 1;
    }
  }

  @JCStressTest
  @Description("Who waits inside learns that it was closed.")
  @Outcome(
      id = {"1, 0", "2, 0"},
      expect = ACCEPTABLE,
      desc = "it was let go, or was not let in")
  @Outcome(expect = FORBIDDEN, desc = "it waits on, or the number is not given back")
  @State
  public static class CloseUnderWait {
    private final Descriptor descriptor = open();

    @Actor
    public void use(II_Result r) {
      try {
        descriptor.enter();
      } catch (ClosedChannelException e) {
        r.r1 = 2;
        return;
      }
      r.r1 = descriptor.readable().await() && descriptor.closed() ? 1 : 3;
      descriptor.leave();
    }

    @Actor
    public void close() {
      descriptor.close();
    }

    @Arbiter
    public void rest(II_Result r) {
      r.r2 = TABLE.find(descriptor.key()) == null ? 0 : 1;
    }
  }
}

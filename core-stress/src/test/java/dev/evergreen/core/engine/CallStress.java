package dev.evergreen.core.engine;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.evergreen.core.GrainException;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.work.NumberedCalls;
import dev.evergreen.core.work.Tasks;
import java.util.List;
import java.util.Set;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.JJ_Result;
import org.openjdk.jcstress.infra.results.L_Result;

/** Calls between nodes: numbers, answers, repetitions, broken links. */
public final class CallStress {

  private CallStress() {}

  @JCStressTest
  @Description("No call tells the callee to forget a number that is still to be sent.")
  @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "the lower number is known to both")
  @Outcome(expect = FORBIDDEN, desc = "a call would be dropped as a repetition")
  @State
  public static class NumbersAreKnown {
    private final NumberedCalls<String> open = new NumberedCalls<>(1);

    @Actor
    public void one(JJ_Result r) {
      open.add("one");
      r.r1 = open.oldest();
    }

    @Actor
    public void two(JJ_Result r) {
      open.add("two");
      r.r2 = open.oldest();
    }
  }

  @JCStressTest
  @Description("A call that arrives twice is executed once.")
  @Outcome(
      id = {"1, 0", "0, 1"},
      expect = ACCEPTABLE,
      desc = "once")
  @Outcome(expect = FORBIDDEN, desc = "twice, or never")
  @State
  public static class ServedOnce {
    private final StressNode node = new StressNode();
    private final Message.Call call =
        new Message.Call(1, 1, node.id("c"), "value()", new byte[0], true, List.of(), 0, null);

    public ServedOnce() {
      node.open("c");
    }

    private int serve() {
      var next = new Tasks();
      node.runtime().calls.serve(StressNode.OTHER, call, next);
      int turns = 0;
      for (var task = next.poll(); task != null; task = next.poll()) {
        task.run(next);
        turns++;
      }
      return turns;
    }

    @Actor
    public void one(II_Result r) {
      r.r1 = serve();
    }

    @Actor
    public void two(II_Result r) {
      r.r2 = serve();
    }
  }

  @JCStressTest
  @Description("The answer to a call wakes the caller.")
  @Outcome(id = "7", expect = ACCEPTABLE, desc = "the caller has it")
  @Outcome(expect = FORBIDDEN, desc = "the caller waits until its time is over")
  @State
  public static class AnswerWakes {
    private final StressNode node = new StressNode();
    private final byte[] seven =
        new dev.evergreen.core.model.Outcome.Returned(7).encode(node.valueOf("c").operation())
                instanceof Message.Answer.Returned(var bytes)
            ? bytes
            : new byte[0];

    public AnswerWakes() {
      node.sendAway();
    }

    @Actor
    public void call(L_Result r) {
      try {
        r.r1 = String.valueOf(node.cell("c").value());
      } catch (GrainException e) {
        r.r1 = e.getClass().getSimpleName();
      }
    }

    @Actor
    public void answer() {
      var call = node.awaitSent(Message.Call.class);
      node.runtime()
          .receive(
              StressNode.OTHER,
              new Message.Reply(call.id(), new Message.Answer.Returned(seven), 0));
    }
  }

  @JCStressTest
  @Description("A call that meets the end of its callee's node ends at once.")
  @Outcome(id = "done", expect = ACCEPTABLE, desc = "it was made where the grain is now")
  @Outcome(id = "OutcomeUnknownException", expect = ACCEPTABLE, desc = "it was under way")
  @Outcome(expect = FORBIDDEN, desc = "the caller waits until its time is over")
  @State
  public static class BrokenLinkWakes {
    private final StressNode node = new StressNode();

    public BrokenLinkWakes() {
      node.sendAway();
    }

    @Actor
    public void call(L_Result r) {
      try {
        node.cell("c").set(1);
        r.r1 = "done";
      } catch (GrainException e) {
        r.r1 = e.getClass().getSimpleName();
      }
    }

    @Actor
    public void end() {
      node.runtime().nodesRemoved(Set.of(StressNode.OTHER));
    }

    @Arbiter
    public void settle(L_Result r) {
      node.settle();
    }
  }
}

package dev.evergreen.core.engine;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.work.Tasks;
import java.util.ArrayList;
import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.ILL_Result;
import org.openjdk.jcstress.infra.results.IL_Result;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.L_Result;

/** Activations: who runs, what is marked, who is told. Summaries and outboxes with them. */
public final class ActivationStress {

  private ActivationStress() {}

  // Admission

  @JCStressTest
  @Description("Two writes of one grain run one after the other, both.")
  @Outcome(
      id = {"1, 2", "2, 1"},
      expect = ACCEPTABLE,
      desc = "one after the other")
  @Outcome(expect = FORBIDDEN, desc = "at once, or not at all")
  @State
  public static class WritesExclude {
    private final Activation activation = new StressNode().open("c");
    private final int[] order = new int[2];
    private int turns;

    private void write(int actor) {
      StressNode.turn(activation, false, grain -> order[actor] = ++turns);
    }

    @Actor
    public void one() {
      write(0);
    }

    @Actor
    public void two() {
      write(1);
    }

    @Arbiter
    public void order(II_Result r) {
      r.r1 = order[0];
      r.r2 = order[1];
    }
  }

  @JCStressTest
  @Description("A read sees a write as a whole or not at all, and both are answered.")
  @Outcome(
      id = {"0, done, done", "2, done, done"},
      expect = ACCEPTABLE,
      desc = "before or after")
  @Outcome(expect = FORBIDDEN, desc = "in the midst of the write, or not at all")
  @State
  public static class ReadOrWrite {
    private final Activation activation = new StressNode().open("c");
    private StressNode.Answer read = new StressNode.Answer();
    private StressNode.Answer write = new StressNode.Answer();
    private int first;
    private int second;
    private int seen = -1;

    @Actor
    public void read() {
      read = StressNode.turn(activation, true, grain -> seen = first + second);
    }

    @Actor
    public void write() {
      write =
          StressNode.turn(
              activation,
              false,
              grain -> {
                first = 1;
                second = 1;
                return null;
              });
    }

    @Arbiter
    public void end(ILL_Result r) {
      r.r1 = seen;
      r.r2 = read.text();
      r.r3 = write.text();
    }
  }

  @JCStressTest
  @Description("A grain that is found idle is closed before or after a write, never under it.")
  @Outcome(
      id = {"done", "not started"},
      expect = ACCEPTABLE,
      desc = "it ran, or it did not start")
  @Outcome(expect = FORBIDDEN, desc = "it was lost, or ran and was not saved")
  @State
  public static class WriteOrIdle {
    private final Activation activation = new StressNode().open("c");
    private StressNode.Answer answer = new StressNode.Answer();

    @Actor
    public void write() {
      answer = StressNode.set(activation, 1);
    }

    @Actor
    public void sweep() {
      if (activation.beginClosingIfIdle(System.nanoTime() + 1_000_000_000)) {
        activation.close("idle", null, new Tasks());
      }
    }

    @Arbiter
    public void end(L_Result r) {
      r.r1 = answer.text();
    }
  }

  @JCStressTest
  @Description("A write that meets the end of its grain is answered once, and saved if it says so.")
  @Outcome(
      id = {"done, 1", "not started, 0", "failed, 0", "unknown, 0", "unknown, 1"},
      expect = ACCEPTABLE,
      desc = "the answer is true")
  @Outcome(id = "done, 0", expect = FORBIDDEN, desc = "an acknowledged write is lost")
  @Outcome(expect = FORBIDDEN, desc = "no answer, two, or a false one")
  @State
  public static class WriteOrClose {
    private final StressNode node = new StressNode();
    private final Activation activation = node.open("c");
    private StressNode.Answer answer = new StressNode.Answer();

    @Actor
    public void write() {
      answer = StressNode.set(activation, 1);
    }

    @Actor
    public void close() {
      activation.close("on purpose", null, new Tasks());
    }

    @Arbiter
    public void end(LL_Result r) {
      r.r1 = answer.text();
      r.r2 = node.cell("c").value();
      node.settle();
    }
  }

  @JCStressTest
  @Description("A write that waits for a protected run begins when that has ended.")
  @Outcome(id = "9, done", expect = ACCEPTABLE, desc = "it began, and its result was sent")
  @Outcome(expect = FORBIDDEN, desc = "it waits for nothing")
  @State
  public static class WriteOrProtectedRun {
    private static final int ENOUGH_FOR_PROTECTION = 3;
    private final StressNode node = new StressNode();
    private final Activation activation = node.open("c");
    private final CallKey key = node.valueOf("c");

    /** Each has a run that the next write discards before it begins; that of the last is left. */
    private final List<Tasks> runs = new ArrayList<>();

    private StressNode.Answer answer = new StressNode.Answer();

    public WriteOrProtectedRun() {
      var next = new Tasks();
      activation.subscribe(key, StressNode.follower(key, 1), next);
      runs.add(next);
      for (int i = 1; i <= ENOUGH_FOR_PROTECTION; i++) {
        next = new Tasks();
        StressNode.submit(activation, false, StressNode.setting(i), next);
        var turn = next.poll();
        if (turn == null) {
          throw new AssertionError("a run was protected too early");
        }
        turn.run(next);
        runs.add(next);
      }
    }

    @Actor
    public void run() {
      runs.forEach(StressNode::run);
    }

    @Actor
    public void write() {
      answer = StressNode.set(activation, 9);
    }

    @Arbiter
    public void end(LL_Result r) {
      node.settle();
      r.r1 = node.lastPushed(key);
      r.r2 = answer.text();
    }
  }

  // Subscribers

  @JCStressTest
  @Description("A subscriber gets the result after a write that happens while it subscribes.")
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "the last push has it")
  @Outcome(expect = FORBIDDEN, desc = "an outdated push, or none")
  @State
  public static class SubscribeOrWrite {
    private final StressNode node = new StressNode();
    private final Activation activation = node.open("c");
    private final CallKey key = node.valueOf("c");

    @Actor
    public void subscribe() {
      node.subscribe(activation, key, 1);
    }

    @Actor
    public void write() {
      StressNode.set(activation, 1);
    }

    @Arbiter
    public void last(L_Result r) {
      r.r1 = node.lastPushed(key);
    }
  }

  @JCStressTest
  @Description("After two writes at once the subscriber has what the second left.")
  @Outcome(id = "true", expect = ACCEPTABLE, desc = "the last push is the state")
  @Outcome(expect = FORBIDDEN, desc = "a mark was lost")
  @State
  public static class WriteOrWrite {
    private final StressNode node = new StressNode();
    private final Activation activation = node.open("c");
    private final CallKey key = node.valueOf("c");

    public WriteOrWrite() {
      node.subscribe(activation, key, 1);
      acknowledge(node);
    }

    @Actor
    public void one() {
      StressNode.set(activation, 1);
    }

    @Actor
    public void two() {
      StressNode.set(activation, 2);
    }

    @Arbiter
    public void last(L_Result r) {
      r.r1 = node.lastPushed(key).equals(String.valueOf(node.cell("c").value()));
      node.settle();
    }
  }

  @JCStressTest
  @Description("A late end of an earlier subscription does not end a later one.")
  @Outcome(id = "1, 2", expect = ACCEPTABLE, desc = "subscribed, and pushed to")
  @Outcome(expect = FORBIDDEN, desc = "the later subscription is lost")
  @State
  public static class SubscribeOrUnsubscribe {
    private final StressNode node = new StressNode();
    private final Activation activation = node.open("c");
    private final CallKey key = node.valueOf("c");

    public SubscribeOrUnsubscribe() {
      node.subscribe(activation, key, 1);
      acknowledge(node);
    }

    @Actor
    public void subscribe() {
      node.subscribe(activation, key, 2);
    }

    @Actor
    public void unsubscribe() {
      activation.unsubscribe(key, StressNode.follower(key, 1));
    }

    @Arbiter
    public void count(IL_Result r) {
      r.r1 = activation.summaries().stream().mapToInt(s -> s.results().subscribers()).sum();
      StressNode.set(activation, 2);
      r.r2 = node.lastPushed(key);
    }
  }

  // The outbox

  @JCStressTest
  @Description("A result that comes while a batch is acknowledged is sent with the next batch.")
  @Outcome(id = "2", expect = ACCEPTABLE, desc = "it was sent")
  @Outcome(expect = FORBIDDEN, desc = "it waits for nothing")
  @State
  public static class PushOrAcknowledge {
    private final StressNode node = new StressNode();
    private final Activation activation = node.open("c");
    private final CallKey key = node.valueOf("c");
    private final long batch;

    public PushOrAcknowledge() {
      node.subscribe(activation, key, 1);
      batch = node.pushed().batch();
    }

    @Actor
    public void push() {
      StressNode.set(activation, 2);
    }

    @Actor
    public void acknowledge() {
      node.runtime().outboxes.acknowledged(StressNode.OTHER, batch);
    }

    @Arbiter
    public void last(L_Result r) {
      r.r1 = node.lastPushed(key);
    }
  }

  @JCStressTest
  @Description("An acknowledgement that comes when the batch is sent again does not stop the rest.")
  @Outcome(id = "2", expect = ACCEPTABLE, desc = "what came next was sent")
  @Outcome(expect = FORBIDDEN, desc = "it waits for nothing")
  @State
  public static class AcknowledgeOrSendAgain {
    private final StressNode node = new StressNode();
    private final Activation activation = node.open("c");
    private final CallKey key = node.valueOf("c");
    private final long batch;

    public AcknowledgeOrSendAgain() {
      node.subscribe(activation, key, 1);
      batch = node.pushed().batch();
      StressNode.set(activation, 2);
    }

    @Actor
    public void acknowledge() {
      node.runtime().outboxes.acknowledged(StressNode.OTHER, batch);
    }

    @Actor
    public void sendAgain() {
      node.elapse();
      node.settle();
    }

    @Arbiter
    public void last(L_Result r) {
      r.r1 = node.lastPushed(key);
    }
  }

  private static void acknowledge(StressNode node) {
    node.runtime().outboxes.acknowledged(StressNode.OTHER, node.pushed().batch());
  }
}

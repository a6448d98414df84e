package dev.evergreen.core.sim;

import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.version.Program;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A small world for the {@link Explorer}: a few grains, each on its node, and threads that do a
 * handful of things. Everything else is left to the schedule: when each thing is done, and in which
 * order things happen.
 */
final class Scope {

  /** Something that a thread of a node does. */
  record Op(String name, Body body) {
    interface Body {
      void run(Stage stage, SimNode node);
    }

    @Override
    public String toString() {
      return name;
    }
  }

  /**
   * A thread.
   *
   * @param node on which it runs, from 1 on
   */
  record Script(int node, List<Op> ops) {}

  private static final Duration NEVER = Duration.ofDays(365);

  final String name;
  final Map<Long, List<Step>> formulas = new HashMap<>();
  final Map<String, Integer> hosts = new HashMap<>();
  final List<Script> scripts = new ArrayList<>();
  private final Map<String, Program> programs = new HashMap<>();
  int nodes = 1;
  int cells;
  int couriers;
  int rings;
  int stalls;
  boolean loses;
  boolean savesFail;
  boolean fenced;
  NodeSettings settings =
      NodeSettings.DEFAULT
          .withCallTimeout(Duration.ofSeconds(6))
          .withIdleAfter(Duration.ofSeconds(4))
          .withCacheGrace(Duration.ofSeconds(1))
          .withRenewEvery(Duration.ofMillis(300))
          .withLeaseFor(Duration.ofMillis(900))
          .withPushRetryAfter(Duration.ofMillis(400));

  Scope(String name) {
    this.name = name;
  }

  /** A formula on a node, with what it does until it is rewired. */
  Scope formula(long key, int node, Step... program) {
    formulas.put(key, List.of(program));
    return host("Formula/" + key, node);
  }

  /** The next cell, on a node: {@code c1} is the first. */
  Scope cell(int node) {
    return host("Cell/c" + ++cells, node);
  }

  /** The next courier, on a node: {@code k1} is the first. */
  Scope courier(int node) {
    return host("Courier/k+" + ++couriers, node);
  }

  /** The next stall, on a node: {@code s1} is the first. Nodes are of two versions by turns. */
  Scope stall(int node) {
    return host("Stall/s" + ++stalls, node);
  }

  /** The next ring, on a node: {@code r1} is the first. */
  Scope ring(int node) {
    return host("Ring/r" + ++rings, node);
  }

  private Scope host(String grain, int node) {
    hosts.put(grain, node);
    nodes = Math.max(nodes, node);
    return this;
  }

  /** A grain of the program that all nodes run, each in its version. */
  Scope grain(String id, int node) {
    return host(id, node);
  }

  /** A node runs a version of another program instead of the usual application. */
  Scope runs(int node, Program program) {
    programs.put("n" + node, program);
    nodes = Math.max(nodes, node);
    return this;
  }

  @Nullable GrainTypes types(String address) {
    var program = programs.get(address);
    return program == null ? null : program.types();
  }

  /** A thread of a node that does this, one after the other. */
  Scope thread(int node, Op... ops) {
    nodes = Math.max(nodes, node);
    scripts.add(new Script(node, List.of(ops)));
    return this;
  }

  /** Messages may be lost. */
  Scope loses() {
    loses = true;
    return this;
  }

  /** Saves may fail, with and without effect. */
  Scope savesFail() {
    savesFail = true;
    return this;
  }

  /** The storage refuses the saves of nodes that were given up. */
  Scope fenced() {
    fenced = true;
    return this;
  }

  /** With other settings. */
  Scope with(UnaryOperator<NodeSettings> change) {
    settings = change.apply(settings);
    return this;
  }

  /** Nothing is renewed, so that renewal hides no lost push. */
  Scope withoutRenewal() {
    settings = settings.withRenewEvery(NEVER).withLeaseFor(NEVER);
    return this;
  }

  @Override
  public String toString() {
    return name;
  }

  // What threads do

  /** Waits until all is quiet, but not until what is not used is given back; or less or longer. */
  static Op pause() {
    return new Op("pause", (stage, node) -> stage.pause(Stage.SHORT, 0, Stage.REST));
  }

  /** Waits for a moment. */
  static Op pause(long nanos) {
    return new Op("pause", (stage, node) -> stage.pause(nanos));
  }

  /** Waits until what is not used is given back, or less. */
  static Op rest() {
    return new Op("rest", (stage, node) -> stage.pause(Stage.REST, 0, Stage.SHORT));
  }

  /**
   * Waits a moment; then what is shown as current must be right, if the schedule delays nothing.
   */
  static Op look() {
    return new Op("look", (stage, node) -> stage.look());
  }

  static Op open(String watch, Query query) {
    return new Op("open " + watch, (stage, node) -> stage.open(node, watch, query));
  }

  static Op open(String watch, long formula) {
    return open(watch, new Query.One(value(formula)));
  }

  static Op close(String watch) {
    return new Op("close " + watch, (stage, node) -> stage.close(watch));
  }

  /** What a computation shows after something was done is what is so then. */
  static Op after(String watch, Op write) {
    return new Op(
        "after " + write + " look at " + watch, (stage, node) -> stage.after(watch, write, node));
  }

  static Op rewire(long formula, Step... program) {
    return new Op(
        "rewire " + formula,
        (stage, node) -> new Client(stage.app(), node).rewire(formula, List.of(program)));
  }

  static Op set(String cell, long value) {
    return new Op("set " + cell, (stage, node) -> new Client(stage.app(), node).set(cell, value));
  }

  static Op store(long formula, String cell) {
    return new Op(
        "store " + formula, (stage, node) -> new Client(stage.app(), node).store(formula, cell));
  }

  static Op read(Query query) {
    return new Op("read " + query, (stage, node) -> new Client(stage.app(), node).read(query));
  }

  /** Calls {@code count} times in a row. */
  static Op readOften(int count, Query query) {
    return new Op(
        "read often " + query,
        (stage, node) -> {
          for (int i = 0; i < count; i++) {
            new Client(stage.app(), node).read(query);
          }
        });
  }

  /** Rewires to one of these, usually the first. */
  static Op rewireToAny(long formula, List<List<Step>> programs) {
    return new Op("rewire " + formula, (stage, node) -> stage.rewire(node, formula, programs));
  }

  static Op move(int courier, String from, String to) {
    return client("move", client -> client.move(new Courier.Key("k", courier), from, to));
  }

  static Op put(String stall, long value) {
    return client("put " + value, client -> client.put(stall, value));
  }

  /** Has a cell confirm what it is, {@code count} times in a row. */
  static Op touchOften(int count, String cell) {
    return new Op("touch often " + cell, (stage, node) -> stage.touchOften(node, count, cell));
  }

  /** Sets a cell {@code count} times in a row, every now and then, to 1, 2 and so on. */
  static Op setOften(int count, String cell) {
    return new Op("set often " + cell, (stage, node) -> stage.setOften(node, count, cell));
  }

  /** A node dies; its grains start elsewhere when the others have given it up. */
  static Op die(int node) {
    return new Op("node " + node + " dies", (stage, any) -> stage.die(node));
  }

  /** A node is paused until the others have given it up, and then goes on for a while. */
  static Op giveUp(int node) {
    return new Op("give up " + node, (stage, any) -> stage.giveUp(node));
  }

  /** Moves all partitions of a node to another one. */
  static Op handOff(int from, int to) {
    return new Op("hand off to " + to, (stage, node) -> stage.handOff(from, to));
  }

  static Op draft(int courier) {
    return client("draft", client -> client.draft(new Courier.Key("k", courier)));
  }

  static Op ring(String key, Consumer<Ring> call) {
    return client("call ring " + key, client -> call.accept(client.ring(key)));
  }

  /** A chain of calls through rings. */
  static Op nest(Hop first) {
    return new Op(
        "nest " + first.ring(),
        (stage, node) ->
            new Client(stage.app(), node)
                .nest(first.course(stage.app().nextAction(), new AtomicInteger())));
  }

  /** What a ring does in a chain, and what others do next. */
  record Hop(String ring, Ring.Task task, List<Hop> next) {
    private Ring.Course course(long chain, AtomicInteger places) {
      int place = places.getAndIncrement();
      var courses = next.stream().map(hop -> hop.course(chain, places)).toList();
      return new Ring.Course(chain, place, ring, task, Duration.ofSeconds(2), courses);
    }
  }

  static Hop changes(String ring, Hop... next) {
    return new Hop(ring, Ring.Task.CHANGE, List.of(next));
  }

  static Hop fails(String ring, Hop... next) {
    return new Hop(ring, Ring.Task.FAIL, List.of(next));
  }

  private static Op client(String name, Consumer<Client> call) {
    return new Op(name, (stage, node) -> call.accept(new Client(stage.app(), node)));
  }

  /** Has a program do something. */
  static Op ask(Program program, String what) {
    return new Op(what, (stage, node) -> program.ask(node.engine().grains(), what));
  }

  static Op unreadable(String cell) {
    return new Op(cell + " cannot be loaded", (stage, node) -> stage.unreadable(cell));
  }

  static Op readable(String cell) {
    return new Op(cell + " can be loaded", (stage, node) -> stage.readable(cell));
  }

  /** Waits long; meanwhile nothing may be executed, if the schedule delays nothing. */
  static Op quiet() {
    return new Op("quiet", (stage, node) -> stage.quiet());
  }

  static Op interrupt() {
    return new Op("interrupt", (stage, node) -> stage.interrupt());
  }

  static Op breakLink(int a, int b) {
    return new Op("break the link", (stage, node) -> stage.breakLink(a, b));
  }

  // What formulas do

  static Step add(long formula) {
    return new Step.Add(value(formula));
  }

  static Step add(String cell) {
    return new Step.Add(value(cell));
  }

  static Step addOr(long formula, long otherwise) {
    return new Step.AddOr(value(formula), otherwise);
  }

  static Ref value(long formula) {
    return new Ref.OfFormula(formula, 0, Ref.Aspect.VALUE);
  }

  static Ref value(String cell) {
    return new Ref.OfCell(cell, Ref.Aspect.VALUE);
  }
}

package dev.evergreen.core.sim;

import dev.evergreen.core.NodeSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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
  int nodes = 1;
  int cells;
  int couriers;
  boolean loses;
  boolean stillFails;
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

  private Scope host(String grain, int node) {
    hosts.put(grain, node);
    nodes = Math.max(nodes, node);
    return this;
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

  /** It is known that the core does not yet do what it must here. */
  Scope stillFails() {
    stillFails = true;
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

  static Op breakLink(int a, int b) {
    return new Op("break the link", (stage, node) -> stage.breakLink(a, b));
  }

  // What formulas do

  static Step add(long formula) {
    return new Step.Add(value(formula));
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

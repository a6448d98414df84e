package dev.evergreen.core.sim;

import dev.evergreen.core.Grains;
import dev.evergreen.core.spi.GrainId;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/** A thread of a node, outside of grains, that calls them at random. */
final class Client {

  private final App app;
  private final SimNode node;
  private final Grains grains;

  Client(App app, SimNode node) {
    this.app = app;
    this.node = node;
    this.grains = node.engine().grains();
  }

  /** Does all that the scenario has for a client. */
  void run() {
    for (int i = 0; i < app.scenario().actions(); i++) {
      app.scheduler().sleep(app.random().nextLong(app.scenario().thinkNanos() + 1));
      act();
    }
  }

  /** One random action; its failure is noted, not thrown. */
  private void act() {
    try {
      actOn(app.random().nextInt(100));
    } catch (SimulationFailure e) {
      throw e;
    } catch (RuntimeException e) {
      app.trace(node.toString(), "a client's action fails: " + Seen.failure(e));
    } finally {
      // Clients are interrupted now and then; the next action shall work again.
      Thread.interrupted();
    }
  }

  private void actOn(int choice) {
    // Where two nodes may host a grain, one that does not know it answers what the other changes.
    if (choice < (app.scenario().profile().split() ? 25 : 40)) {
      writeCell(app.wiring().cell());
    } else if (choice < 45) {
      touch(app.wiring().cell());
    } else if (choice < 47) {
      cell(app.wiring().cell()).retire();
    } else if (choice < 50) {
      failOnCell(app.wiring().cell());
    } else if (choice < 65) {
      rewire(app.wiring().formula());
    } else if (choice < 70) {
      store(app.wiring().formula(), app.wiring().cell());
    } else if (choice < 79) {
      courier();
    } else if (choice < 84) {
      ring();
    } else if (choice < 90) {
      put(app.wiring().stalls());
    } else if (choice < 93) {
      meter();
    } else {
      read();
    }
  }

  /** Changes a cell. */
  void writeCell(String key) {
    long action = app.nextAction();
    long number = app.random().nextLong(Cell.LIMIT);
    boolean adds = app.random().nextBoolean();
    app.trace(node.toString(), "action " + action + ": " + (adds ? "add " : "set ") + key);
    app.write(
        "Cell/" + key,
        action,
        () -> adds ? cell(key).add(action, number) : cell(key).set(action, number));
  }

  /** Sets a cell. */
  void set(String key, long value) {
    long action = app.nextAction();
    app.write("Cell/" + key, action, () -> cell(key).set(action, value));
  }

  private void failOnCell(String key) {
    long action = app.nextAction();
    app.trace(node.toString(), "action " + action + ": fail on " + key);
    app.write(
        "Cell/" + key,
        action,
        () -> {
          cell(key).changeAndFail(action);
          throw app.violation("3: an operation of " + key + " that throws has returned");
        });
  }

  /** Changes a formula. */
  void rewire(long key) {
    rewire(key, app.wiring().program(key));
  }

  void rewire(long key, List<Step> program) {
    long action = app.nextAction();
    app.trace(node.toString(), "action " + action + ": rewire " + key + " to " + program);
    app.write("Formula/" + key, action, () -> formula(key).rewire(action, program));
  }

  /** Lets a formula read, and set a cell. */
  void store(long key, String cell) {
    long action = app.nextAction();
    app.trace(node.toString(), "action " + action + ": store " + key + " in " + cell);
    app.write("Formula/" + key, action, () -> formula(key).store(action, cell));
  }

  private static String nameOf(Courier.Key key) {
    return "Courier/" + key.name() + key.number();
  }

  private void courier() {
    var keys = app.wiring().couriers();
    if (keys.isEmpty()) {
      return;
    }
    var key = keys.get(app.random().nextInt(keys.size()));
    var courier = grains.get(Courier.class, key);
    switch (app.random().nextInt(8)) {
      case 0 ->
          courier.tick(
              app.random().nextInt(1, 5), Duration.ofMillis(app.random().nextInt(1, 2_000)));
      case 1 -> courier.watch(app.wiring().read());
      case 2 -> courier.watched();
      case 3 -> relay(key, courier);
      case 4 -> courier.draft();
      case 5 -> survey(key, app.wiring().read(), app.wiring().cell());
      default -> move(key);
    }
  }

  private void move(Courier.Key key) {
    move(key, app.wiring().cell(), app.wiring().cell());
  }

  /** Lets a courier move an amount from one cell to another. */
  void move(Courier.Key key, String from, String to) {
    long action = app.nextAction();
    var courier = grains.get(Courier.class, key);
    app.trace(node.toString(), "action " + action + ": move from " + from + " to " + to);
    app.write(nameOf(key), action, () -> courier.move(action, from, to, 1));
  }

  /** A chain of calls that comes back to where it was. */
  private void relay(Courier.Key key, Courier courier) {
    var keys = app.wiring().couriers();
    courier.relay(List.of(keys.get(app.random().nextInt(keys.size())), key));
    app.violation("3: a chain of calls has come back to " + key + " and has returned");
  }

  private void survey(Courier.Key key, Ref ref, String cell) {
    long action = app.nextAction();
    var courier = grains.get(Courier.class, key);
    app.trace(node.toString(), "action " + action + ": survey of " + ref + " into " + cell);
    app.write(nameOf(key), action, () -> courier.survey(action, ref, cell));
  }

  private void ring() {
    var keys = app.wiring().rings();
    if (keys.isEmpty()) {
      return;
    }
    var key = keys.get(app.random().nextInt(keys.size()));
    if (app.random().nextInt(4) == 0) {
      ring(key).more();
    } else {
      nest(app.wiring().course(app.nextAction(), key));
    }
  }

  /** Changes a ring, and then others in the same chain. */
  void nest(Ring.Course course) {
    app.trace(node.toString(), "action " + course.action() + ": " + course);
    app.writeNested(
        "Ring/" + course.ring(),
        course.action(),
        course.comesBack(),
        () -> ring(course.ring()).nest(course));
  }

  private void put(List<String> keys) {
    if (!keys.isEmpty()) {
      put(keys.get(app.random().nextInt(keys.size())));
    }
  }

  /** Changes a stall. */
  void put(String key) {
    put(key, app.random().nextLong(Cell.LIMIT));
  }

  void put(String key, long value) {
    long action = app.nextAction();
    app.trace(node.toString(), "action " + action + ": put " + value + " to stall " + key);
    app.effect(action, before -> value);
    var stalls = Objects.requireNonNull(app.stallsOf(node.id().address()));
    app.write(
        "Stall/" + key,
        action,
        () -> {
          var receipt = stalls.put(grains, key, action, value);
          if (receipt.noted()) {
            app.writes().noted(action);
          }
          return receipt.version();
        });
  }

  private void meter() {
    var keys = app.wiring().meters();
    if (!keys.isEmpty()) {
      app.changeMeter(keys.get(app.random().nextInt(keys.size())), app.random().nextLong(5));
    }
  }

  /**
   * An operation that may write, and changes nothing, is acknowledged only if it knows of every
   * write that was acknowledged before it began, on whatever node.
   */
  void touch(String key) {
    long known = app.writes().knownVersion("Cell/" + key);
    long version = cell(key).touch();
    if (version < known) {
      app.violation(
          "3: an operation of cell "
              + key
              + " was acknowledged on version "
              + version
              + ", but version "
              + known
              + " was acknowledged before it began");
    }
  }

  private void read() {
    if (app.random().nextBoolean()) {
      readVersion(app.wiring().cell());
    } else {
      new LiveReader(node, app, false).with(withSomeTimeout()).read(app.wiring().read());
    }
  }

  void draft(Courier.Key key) {
    grains.get(Courier.class, key).draft();
  }

  Ring ring(String key) {
    return grains.get(Ring.class, key);
  }

  /** Runs a query by plain calls. */
  void read(Query query) {
    try {
      Queries.run(query, new LiveReader(node, app, false));
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private Grains withSomeTimeout() {
    return app.random().nextBoolean()
        ? grains
        : grains.withTimeout(Duration.ofMillis(app.random().nextInt(1, 200)));
  }

  /**
   * A plain read must know of every write that was acknowledged before it began, but on a node that
   * the others give up.
   */
  private void readVersion(String key) {
    long known = app.writes().knownVersion("Cell/" + key);
    var audit = app.check(cell(key).audit(), new GrainId("Cell", key));
    if (audit.first() < known && !node.doomed()) {
      app.violation(
          "3: a call of cell "
              + key
              + " sees version "
              + audit.first()
              + ", but version "
              + known
              + " was acknowledged before it began");
    }
  }

  private Cell cell(String key) {
    return grains.get(Cell.class, key);
  }

  private Formula formula(long key) {
    return grains.get(Formula.class, key);
  }
}

package dev.evergreen.core.sim;

import dev.evergreen.core.NodeStoppedException;
import java.util.ArrayList;
import java.util.List;

/** The clients and computations on all nodes. */
final class Population {

  private static final long SECOND = 1_000_000_000;

  private record Inhabitant(SimNode node, SimThread thread, boolean interruptible) {
    boolean works() {
      return thread.status != SimThread.Status.ENDED && !node.life().dead();
    }
  }

  private final App app;
  private final List<Inhabitant> clients = new ArrayList<>();
  private final List<Watch> watches = new ArrayList<>();

  Population(App app) {
    this.app = app;
  }

  /** Starts what lives on a node. */
  void settle(SimNode node) {
    for (int i = 0; i < app.scenario().clients(); i++) {
      add(node, "client", true, new Client(app, node)::run);
    }
    for (int i = 0; i < app.scenario().watchers(); i++) {
      add(node, "watcher", false, () -> watch(node));
    }
  }

  /** Starts a thread of a node. */
  void add(SimNode node, String name, boolean interruptible, Runnable task) {
    var thread = app.scheduler().start(node.life(), name, task);
    clients.add(new Inhabitant(node, thread, interruptible));
  }

  /** Interrupts one of the clients, wherever it is. */
  void interruptSomeone() {
    var working =
        clients.stream().filter(client -> client.interruptible() && client.works()).toList();
    if (!working.isEmpty()) {
      app.scheduler().interrupt(working.get(app.random().nextInt(working.size())).thread());
    }
  }

  /** Opens a computation, and perhaps closes it later; ends early if the node stops. */
  private void watch(SimNode node) {
    try {
      watchAtRandom(node);
    } catch (NodeStoppedException e) {
      if (node.candidate()) {
        throw e;
      }
    }
  }

  private void watchAtRandom(SimNode node) {
    app.scheduler().sleep(app.random().nextLong(3 * SECOND));
    if (!node.serves()) {
      return;
    }
    var watch = open(node);
    watch.consume();
    while (app.random().nextInt(3) == 0) {
      app.scheduler().sleep(app.random().nextLong(SECOND));
      watch.consume();
    }
    while (app.random().nextInt(3) == 0) {
      app.scheduler().sleep(app.random().nextLong(SECOND));
      watch.checkAfter();
    }
    if (app.random().nextInt(3) == 0) {
      app.scheduler().sleep(app.random().nextLong(5 * SECOND));
      watch.closeOne();
    }
    if (app.random().nextInt(3) == 0) {
      app.scheduler().sleep(app.random().nextLong(10 * SECOND));
      watch.close();
    }
  }

  private Watch open(SimNode node) {
    return open(node, app.wiring().query(), "w" + (watches.size() + 1));
  }

  /** Opens a computation. */
  Watch open(SimNode node, Query query, String name) {
    var watch = new Watch(app, node, query, name);
    watches.add(watch);
    return watch;
  }

  /** Opens one more computation on each of these nodes. */
  void watchMore(List<SimNode> nodes) {
    nodes.forEach(node -> open(node).consume());
  }

  /** Opens computations whose threads wait for branches, on each of these nodes. */
  void watchBranches(List<SimNode> nodes) {
    for (var node : nodes) {
      var refs = List.of(app.wiring().read(), app.wiring().read(), app.wiring().read());
      open(node, new Query.Run(List.of(new Step.AddAllOr(refs, 50))), "b" + watches.size())
          .consume();
    }
  }

  /** Whether all clients have done what they had to, or are dead. */
  boolean idle() {
    return clients.stream().noneMatch(Inhabitant::works);
  }

  /** How many results all trackers have delivered. */
  int deliveries() {
    return watches.stream().mapToInt(Watch::deliveries).sum();
  }

  /** The computations that are open, on nodes that take part. */
  List<Watch> open() {
    return watches.stream().filter(Watch::open).toList();
  }
}

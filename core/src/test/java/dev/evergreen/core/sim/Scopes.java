package dev.evergreen.core.sim;

import static dev.evergreen.core.sim.Scope.add;
import static dev.evergreen.core.sim.Scope.addOr;
import static dev.evergreen.core.sim.Scope.breakLink;
import static dev.evergreen.core.sim.Scope.close;
import static dev.evergreen.core.sim.Scope.look;
import static dev.evergreen.core.sim.Scope.open;
import static dev.evergreen.core.sim.Scope.pause;
import static dev.evergreen.core.sim.Scope.rest;
import static dev.evergreen.core.sim.Scope.rewire;
import static dev.evergreen.core.sim.Scope.set;
import static dev.evergreen.core.sim.Scope.value;

import java.util.List;

/** The small worlds that are explored. */
final class Scopes {

  private Scopes() {}

  static List<Scope> all() {
    return List.of(
        new Scope("a cycle without readers is read again inside the grace, and broken")
            .formula(1, 1, add(2))
            .formula(2, 1, add(1))
            .thread(
                1, open("w1", 1), pause(), close("w1"), pause(), open("w2", 1), pause(), rewire(2)),
        new Scope("a cycle over two nodes is made and broken in turn, without renewal")
            .withoutRenewal()
            .formula(1, 1, add(2))
            .formula(2, 2)
            .thread(1, open("w1", 1), pause(), rewire(2, add(1)), pause(), rewire(2))
            .thread(2, open("w2", 2), pause(), rewire(1), pause(), rewire(1, add(2))),
        new Scope("a cell is read again inside the grace, while its link breaks")
            .cell(2)
            .thread(
                1,
                open("w1", one("c1")),
                pause(),
                close("w1"),
                breakLink(1, 2),
                rest(),
                open("w2", one("c1")),
                rest(),
                set("c1", 5)),
        new Scope("the link between two members of a cycle breaks")
            .formula(1, 1, addOr(2, 7))
            .formula(2, 2, addOr(1, 9))
            .thread(1, open("w1", 1), pause(), breakLink(1, 2), pause()),
        new Scope("a cycle is replaced by another one, whose member the first catches")
            .formula(1, 1)
            .formula(2, 1, add(1))
            .thread(
                1,
                open("w2", 2),
                pause(),
                open("w1", 1),
                pause(),
                rewire(1, addOr(2, 7)),
                pause(),
                rewire(2, add(2)),
                look()));
  }

  private static Query one(String cell) {
    return new Query.One(value(cell));
  }
}

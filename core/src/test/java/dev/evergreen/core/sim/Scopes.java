package dev.evergreen.core.sim;

import static dev.evergreen.core.sim.Scope.add;
import static dev.evergreen.core.sim.Scope.addOr;
import static dev.evergreen.core.sim.Scope.after;
import static dev.evergreen.core.sim.Scope.ask;
import static dev.evergreen.core.sim.Scope.breakLink;
import static dev.evergreen.core.sim.Scope.changes;
import static dev.evergreen.core.sim.Scope.close;
import static dev.evergreen.core.sim.Scope.die;
import static dev.evergreen.core.sim.Scope.draft;
import static dev.evergreen.core.sim.Scope.fails;
import static dev.evergreen.core.sim.Scope.giveUp;
import static dev.evergreen.core.sim.Scope.handOff;
import static dev.evergreen.core.sim.Scope.interrupt;
import static dev.evergreen.core.sim.Scope.look;
import static dev.evergreen.core.sim.Scope.move;
import static dev.evergreen.core.sim.Scope.nest;
import static dev.evergreen.core.sim.Scope.open;
import static dev.evergreen.core.sim.Scope.pause;
import static dev.evergreen.core.sim.Scope.put;
import static dev.evergreen.core.sim.Scope.quiet;
import static dev.evergreen.core.sim.Scope.read;
import static dev.evergreen.core.sim.Scope.readOften;
import static dev.evergreen.core.sim.Scope.readable;
import static dev.evergreen.core.sim.Scope.rest;
import static dev.evergreen.core.sim.Scope.rewire;
import static dev.evergreen.core.sim.Scope.rewireToAny;
import static dev.evergreen.core.sim.Scope.ring;
import static dev.evergreen.core.sim.Scope.set;
import static dev.evergreen.core.sim.Scope.setOften;
import static dev.evergreen.core.sim.Scope.store;
import static dev.evergreen.core.sim.Scope.touchOften;
import static dev.evergreen.core.sim.Scope.unreadable;
import static dev.evergreen.core.sim.Scope.value;

import java.time.Duration;
import java.util.List;

/** The small worlds that are explored. */
final class Scopes {

  private static final long SECOND = 1_000_000_000;
  private static final long MILLI = 1_000_000;

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
                look()),
        new Scope("a circle ends as it is found, and nobody's value differs")
            .cell(1)
            .formula(1, 1, add("c1"))
            .formula(2, 1, add(1), new Step.Wait(SECOND))
            .thread(1, open("w1", 1), open("w2", 2), pause(2 * SECOND), rewire(1, addOr(2, 7)))
            .thread(1, pause(5 * SECOND / 2), rewire(2)),
        new Scope("three formulas are wired in any way, again and again")
            .cell(1)
            .formula(1, 1)
            .formula(2, 1)
            .formula(3, 1)
            .thread(
                1,
                open("w1", 1),
                open("w2", 2),
                open("w3", 3),
                rewireToAny(
                    1, List.of(List.of(add("c1"), add(2)), List.of(addOr(2, 7)), List.of(add(1)))),
                pause(),
                rewireToAny(
                    2, List.of(List.of(add("c1"), add(1)), List.of(add(3)), List.of(addOr(3, 9)))),
                pause(),
                rewireToAny(
                    3,
                    List.of(List.of(add(2)), List.of(addOr(1, 5)), List.of(addOr(2, 1), add(1)))),
                look(),
                rewireToAny(
                    2, List.of(List.of(add(2)), List.of(), List.of(add("c1"), add(1), add(3)))),
                look(),
                quiet()),
        new Scope("one reader is impatient, the other is not")
            .formula(1, 1, new Step.Wait(2 * SECOND))
            .thread(1, open("w1", program(within(1, SECOND / 10))), pause(), open("w2", 1))
            .thread(1, pause(), pause(), rewire(1, new Step.Times(2))),
        new Scope("an impatient reader shows something else")
            .formula(1, 1, new Step.Wait(2 * SECOND))
            .thread(1, open("w1", program(within(1, SECOND / 10))), pause(), look()),
        new Scope("whoever computes is interrupted, wherever it waits")
            .cell(2)
            .cell(2)
            .formula(
                1,
                1,
                new Step.Wait(SECOND / 20),
                new Step.AddAllOr(List.of(value("c1"), value("c2")), 7))
            .thread(1, open("w1", 1))
            .thread(
                1,
                pause(SECOND / 40),
                interrupt(),
                pause(SECOND / 20 + MILLI / 2),
                interrupt(),
                look(),
                set("c1", 3),
                look()),
        new Scope("whoever waits is interrupted, and shows something else")
            .formula(1, 1, new Step.WaitOr(SECOND / 20, 7))
            .thread(1, open("w1", 1))
            .thread(1, pause(SECOND / 40), interrupt(), look()),
        new Scope("who waits for branches is interrupted")
            .cell(1)
            .cell(2)
            .cell(1)
            .thread(
                1,
                set("c1", 1),
                open(
                    "w1",
                    program(
                        new Step.SkipIfOdd(value("c1"), 1),
                        new Step.AddAllOr(List.of(value("c3"), value("c2")), 7))),
                pause(SECOND),
                set("c1", 2),
                pause(MILLI),
                interrupt(),
                look(),
                set("c2", 3),
                look()),
        new Scope("what an impatient reader reads fails again and again")
            .cell(1)
            .thread(
                1,
                unreadable("c1"),
                open("w1", program(new Step.AddWithin(value("c1"), SECOND / 10, 9))),
                quiet(),
                readable("c1"),
                rest()),
        new Scope("a write of one grain reads another one, which reads it, and is written")
            .cell(1)
            .formula(1, 1, new Step.OnlyFor(1, 1), add(2))
            .formula(2, 1, new Step.OnlyFor(2, 1), add(1))
            .thread(1, store(1, "c1"))
            .thread(1, read(new Query.One(new Ref.OfFormula(2, 2, Ref.Aspect.VALUE))))
            .thread(1, rewire(2, new Step.OnlyFor(2, 1), add(1), new Step.Times(2))),
        new Scope("readers on another node, again and again, and one write")
            .with(settings -> settings.withCallTimeout(Duration.ofSeconds(1)))
            .formula(1, 1, add(9))
            .formula(2, 1, add(9))
            .formula(3, 1, add(9))
            .formula(4, 1, add(9))
            .formula(9, 2, new Step.Wait(SECOND / 5))
            .thread(1, readOften(9, new Query.One(value(1))))
            .thread(1, pause(MILLI * 50), readOften(9, new Query.One(value(2))))
            .thread(1, pause(MILLI * 100), readOften(9, new Query.One(value(3))))
            .thread(1, pause(MILLI * 150), readOften(9, new Query.One(value(4))))
            .thread(2, pause(MILLI * 300), rewire(9)),
        new Scope("a chain whose caller gave up comes back")
            .ring(1)
            .ring(1)
            .thread(1, ring("r1", ring -> ring.ask("r2", Duration.ofMillis(300))))
            .thread(1, pause(), ring("r1", ring -> ring.halfDone(Duration.ofSeconds(2)))),
        new Scope("a courier finds no room at its second cell")
            .with(settings -> settings.withMaxWaitingCalls(1))
            .cell(1)
            .cell(1)
            .courier(1)
            .thread(1, set("c2", 1))
            .thread(1, set("c2", 2))
            .thread(1, move(1, "c1", "c2")),
        new Scope("a write computes what it then takes back")
            .courier(1)
            .thread(1, draft(1))
            .thread(1, open("w1", new Query.One(new Ref.OfCourier(new Courier.Key("k", 1))))),
        new Scope("a result that cannot be encoded, beside others")
            .ring(2)
            .cell(2)
            .thread(
                1,
                open("w1", new Query.TwinsOf("r1")),
                open("w2", one("c1")),
                pause(),
                ring("r1", Ring::more),
                ring("r1", Ring::more),
                pause(),
                set("c1", 5),
                pause()),
        new Scope("who has written looks at once")
            .cell(2)
            .formula(1, 1, add("c1"), add(2))
            .formula(2, 2, add("c1"))
            .thread(
                1,
                open("w1", 1),
                pause(),
                after("w1", set("c1", 5)),
                after("w1", rewire(2)),
                after("w1", set("c1", 6)),
                after("w1", rewire(2, add("c1"))),
                after("w1", set("c1", 7)),
                close("w1")),
        new Scope("two versions of a program write the same grain")
            .stall(2)
            .cell(1)
            .thread(
                2,
                open("w1", one("s1")),
                put("s1", 3),
                handOff(2, 1),
                pause(),
                put("s1", 4),
                handOff(1, 2),
                pause(),
                put("s1", 5))
            .thread(1, open("w2", one("s1")), put("s1", 6), pause(), put("s1", 7)),
        new Scope("a node that was given up goes on")
            .cell(1)
            .thread(1, set("c1", 1), touchOften(40, "c1"))
            .thread(2, pause(), giveUp(1), pause(7 * SECOND), set("c1", 2)),
        new Scope("a chain comes back to a ring, and what it has done there stays")
            .ring(1)
            .ring(2)
            .thread(1, nest(fails("r1", changes("r2", changes("r1")))), nest(changes("r1")))
            .thread(2, open("w1", new Query.One(new Ref.OfRing("r1"))), pause(), quiet()),
        new Scope("two branches come back to a ring, and one fails")
            .ring(1)
            .ring(2)
            .ring(2)
            .thread(
                1,
                nest(changes("r1", changes("r2", changes("r1")), fails("r1", changes("r3")))),
                nest(changes("r1"))),
        new Scope("two versions of a program read each other's grains")
            .runs(1, Versions.OLDER_SHOP)
            .runs(2, Versions.NEWER_SHOP)
            .grain("Shop/s", 2)
            .grain("Shop/t", 1)
            .thread(
                1,
                open("w1", new Query.Asks(Versions.OLDER_SHOP, "count s")),
                pause(),
                ask(Versions.OLDER_SHOP, "put s 5"))
            .thread(
                2,
                open("w2", new Query.Asks(Versions.NEWER_SHOP, "count t x")),
                pause(),
                ask(Versions.NEWER_SHOP, "put t 6")),
        new Scope("reads go over three nodes, and each writes")
            .formula(1, 1, add(2), add("c1"))
            .formula(2, 2, add("c1"))
            .cell(3)
            .thread(1, open("w1", 1), pause(), set("c1", 5))
            .thread(2, open("w2", 2), pause(), rewire(2, add("c1"), new Step.Times(2)))
            .thread(3, pause(), set("c1", 7)),
        new Scope("who has written looks at once, over three nodes")
            .formula(1, 1, add(2))
            .formula(2, 2, add("c1"))
            .cell(3)
            .thread(
                1,
                open("w1", 1),
                pause(),
                after("w1", set("c1", 5)),
                after("w1", rewire(2)),
                after("w1", set("c1", 6)),
                after("w1", rewire(2, add("c1")))),
        new Scope("a circle over three nodes comes and goes, without renewal")
            .withoutRenewal()
            .formula(1, 1, add(2))
            .formula(2, 2, add(3))
            .formula(3, 3)
            .thread(1, open("w1", 1), pause(), rewire(2), pause())
            .thread(3, pause(), rewire(3, add(1)), pause(), rewire(3)),
        new Scope("a grain moves from node to node while a third one reads and writes it")
            .fenced()
            .cell(2)
            .formula(1, 1, add("c1"))
            .thread(1, open("w1", 1), pause(), after("w1", set("c1", 5)), after("w1", set("c1", 6)))
            .thread(2, pause(), handOff(2, 3))
            .thread(3, open("w3", one("c1"))),
        new Scope("a node dies, and its grain starts elsewhere")
            .fenced()
            .cell(2)
            .formula(1, 1, add("c1"))
            .thread(1, open("w1", 1), pause(), set("c1", 5), rest(), rest(), rest(), set("c1", 6))
            .thread(1, pause(), die(2)),
        new Scope("a node dies that wrote and read what others have")
            .cell(1)
            .formula(1, 3, add("c1"), add(2))
            .formula(2, 2, add("c1"))
            .thread(1, open("w1", 1), pause(), set("c1", 5), die(2), pause(), set("c1", 6))
            .thread(2, open("w2", 1), pause(), set("c1", 7), rewire(2)),
        new Scope("messages between a reader and what it reads are lost")
            .loses()
            .cell(2)
            .formula(1, 1, add("c1"))
            .thread(
                1,
                open("w1", 1),
                pause(),
                set("c1", 5),
                close("w1"),
                pause(),
                open("w2", 1),
                set("c1", 6))
            .thread(2, pause(), set("c1", 7)),
        new Scope("messages between three members of a circle are lost")
            .loses()
            .formula(1, 1, add(2))
            .formula(2, 2, add(3))
            .formula(3, 3, addOr(1, 7))
            .thread(1, open("w1", 1), pause(), rewire(2), pause()),
        new Scope("saves fail, or nobody knows")
            .savesFail()
            .cell(2)
            .formula(1, 1, add("c1"))
            .thread(1, open("w1", 1), pause(), after("w1", set("c1", 5)), after("w1", set("c1", 6)))
            .thread(2, pause(), touchOften(3, "c1")),
        new Scope("what a chain of writes saves fails, behind the fence")
            .fenced()
            .savesFail()
            .cell(1)
            .cell(2)
            .courier(1)
            .thread(1, set("c2", 1), move(1, "c1", "c2"), move(1, "c2", "c1"))
            .thread(2, open("w2", one("c2")), pause(), set("c1", 2)),
        new Scope("what a chain saves that comes back to a ring fails")
            .savesFail()
            .ring(1)
            .ring(2)
            .thread(1, nest(changes("r1", changes("r2", changes("r1")))), nest(changes("r1"))),
        new Scope("a node that was given up saves, behind the fence")
            .fenced()
            .cell(1)
            .thread(1, setOften(10, "c1"), touchOften(5, "c1"), setOften(10, "c1"))
            .thread(
                2, open("w2", one("c1")), pause(), giveUp(1), pause(7 * SECOND), set("c1", 99)));
  }

  private static Query program(Step... steps) {
    return new Query.Run(List.of(steps));
  }

  private static Step within(long formula, long nanos) {
    return new Step.AddWithin(value(formula), nanos, 9);
  }

  static Scope named(String name) {
    return all().stream()
        .filter(scope -> scope.name.equals(name))
        .findAny()
        .orElseThrow(() -> new IllegalArgumentException("no scope '" + name + "'"));
  }

  private static Query one(String grain) {
    return new Query.One(grain.startsWith("s") ? new Ref.OfStall(grain, 0, 0) : value(grain));
  }
}

package dev.evergreen.core.engine;

import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.work.Chain;
import dev.evergreen.core.work.ChainClock;
import dev.evergreen.core.work.Tasks;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who is inside one activation, who waits to enter, and who is next.
 *
 * <p><b>The rule.</b> Turns of {@link ReadOnly} operations are inside together, any other alone. A
 * turn belongs to a call chain, and is as old as that chain's first turn, wherever that was. Those
 * that wait enter by age, the oldest first, whatever they want:
 *
 * <pre>
 *   a turn that reads    waits for  the write that is inside, and older writes that wait
 *   a turn that writes   waits for  all that are inside, and all older ones that wait
 *   a turn whose chain is inside already, and waits there for it, waits for nothing but others
 *     that have come back like that, for another call ({@link Parallel})
 * </pre>
 *
 * <p><b>Inheritance.</b> Whoever is inside when an older turn waits becomes as old as that one, and
 * so does everything that it waits for in turn, here and on other nodes (the priority inheritance
 * of Sha, Rajkumar and Lehoczky, 1990, with ages for priorities). {@link Entrant#hasten} is told.
 *
 * <p><b>No deadlock comes of the order.</b> Say that x waits for y if y is a turn inside that
 * excludes x, or an older turn that waits before x, or a turn that x has called. Along each of
 * these the age does not fall: to what is inside it is passed on, a turn is as old as its caller,
 * and whoever waits before x is older than x by the rule; strictly, as turns of one age do not wait
 * for each other's place. So nobody who waits merely for his place is part of a circle. What
 * remains are circles of turns that are inside and exclude each other, such as two writes that
 * write each other, or two branches that came back of which one calls what waits for the other. The
 * time limits of their calls end these.
 *
 * <p><b>Nobody starves.</b> A turn that waits is passed by older chains only, and by those that
 * older chains wait for. Ages are times, so there is a finite number of either, whatever arrives
 * later. It waits no longer than those take.
 *
 * <p>Not thread-safe: for who holds the activation's monitor.
 */
final class Admission<T extends Admission.Entrant<T>> {

  private enum Place {
    OUTSIDE,
    WAITING,
    INSIDE
  }

  /** What can enter. */
  abstract static class Entrant<T extends Entrant<T>> extends Chain.Link<T> {
    Place place = Place.OUTSIDE;

    /** The age by which it was put into the order. */
    long rank;

    /** Whether it may be inside together with others that read only. */
    abstract boolean readOnly();

    /** When its chain began, by {@link ChainClock}: less is older. It may become less. */
    abstract long began();

    /** An older chain waits for this entrant: it began at {@code older} from now on. */
    abstract void hasten(long older, Tasks next);
  }

  private final Chain<T> inside = new Chain<>();
  private final Chain<T> waiting = new Chain<>();
  private int readers;
  private int writers;
  private int waits;

  /** None that is inside has entered with a greater one. */
  private long youngest = Long.MIN_VALUE;

  boolean isEmpty() {
    return readers + writers == 0;
  }

  /** Whether somebody is inside who may change what the others see. */
  boolean isWritten() {
    return writers > 0;
  }

  /** How many wait. */
  int waiting() {
    return waits;
  }

  boolean isInside(T entrant) {
    return entrant.place == Place.INSIDE;
  }

  /** Lets one wait for its turn. */
  void await(T entrant, Tasks next) {
    entrant.place = Place.WAITING;
    entrant.rank = entrant.began();
    waiting.addSorted(entrant, Comparator.comparingLong(e -> e.rank));
    waits++;
    passOn(entrant.rank, next);
  }

  /** Who waits has become older. */
  void hastened(T entrant, Tasks next) {
    if (withdraw(entrant)) {
      await(entrant, next);
    }
  }

  /** Whoever is inside becomes as old as who waits. */
  private void passOn(long age, Tasks next) {
    if (age < youngest) {
      for (var entrant : inside.toList()) {
        if (entrant.began() > age) {
          next.add(then -> entrant.hasten(age, then));
        }
      }
    }
  }

  /** Who may enter next, as far as those inside and the order are concerned; null if nobody. */
  @Nullable T next() {
    var first = waiting.first();
    if (first == null || writers > 0) {
      return null;
    }
    if (first.readOnly() || readers == 0) {
      return first;
    }
    for (var peer = waiting.after(first);
        peer != null && peer.rank == first.rank;
        peer = waiting.after(peer)) {
      if (peer.readOnly()) {
        return peer;
      }
    }
    return null;
  }

  /** Lets one enter who waits, or who need not wait. */
  void enter(T entrant) {
    withdraw(entrant);
    youngest = isEmpty() ? entrant.began() : Math.max(youngest, entrant.began());
    entrant.place = Place.INSIDE;
    inside.add(entrant);
    count(entrant, 1);
  }

  /** Takes one back who waits; returns false if it does not. */
  boolean withdraw(T entrant) {
    if (entrant.place != Place.WAITING) {
      return false;
    }
    entrant.place = Place.OUTSIDE;
    waiting.remove(entrant);
    waits--;
    return true;
  }

  /** One leaves; returns false if it is not inside. */
  boolean leave(T entrant) {
    if (!isInside(entrant)) {
      return false;
    }
    entrant.place = Place.OUTSIDE;
    inside.remove(entrant);
    count(entrant, -1);
    return true;
  }

  private void count(T entrant, int change) {
    if (entrant.readOnly()) {
      readers += change;
    } else {
      writers += change;
    }
  }

  /** Those inside, in the order in which they have entered. */
  List<T> inside() {
    return inside.toList();
  }

  /** Those who wait, in their order. */
  List<T> inOrder() {
    return waiting.toList();
  }

  /** Takes all back who wait. */
  List<T> withdrawAll() {
    var all = waiting.toList();
    all.forEach(this::withdraw);
    return all;
  }

  /** All leave. */
  List<T> leaveAll() {
    var all = inside.toList();
    all.forEach(this::leave);
    return all;
  }
}

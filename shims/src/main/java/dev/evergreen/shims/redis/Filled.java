package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The keys that one transaction has filled, as long as nobody has written others since.
 *
 * <p>Who waits for several keys is served as soon as one of them holds something. So if two of them
 * do, and one came after the other, nobody is served who has waited: who asks then gets what the
 * first of its words holds. But while a transaction goes on nobody is served, and afterwards it is
 * from the key that got something first in it, wherever that stands among the words. The reply
 * names it, which tells that the command has waited.
 *
 * @param row of the EXEC, or of what has filled keys in an order that nobody knows
 * @param keys in the order in which they were filled; empty if that is not known
 */
record Filled(long row, List<Cell> keys) {
  private static final Cell PLACE = Cell.of("r");

  /** What they took from keys they took at once when these were filled. */
  private static final Set<String> WAITING =
      Set.of(
          "BLPOP",
          "BRPOP",
          "BLMOVE",
          "BRPOPLPUSH",
          "BLMPOP",
          "BZPOPMIN",
          "BZPOPMAX",
          "BZMPOP",
          "XREADGROUP");

  /** What a command did to a key for which somebody may wait. */
  private enum Change {
    /** There was nothing, or what there was did not serve who waited, and there is more. */
    FILLED,
    /** It had served who waited, or may have: so nobody has waited who asks for it. */
    TURNED,
    OTHER
  }

  private static @Nullable Filled in(State state) {
    return Transactions.known(state, PLACE) instanceof Filled filled ? filled : null;
  }

  /**
   * A command has written a key.
   *
   * @param before what was there; something that is no entry if that is not known
   */
  static void note(Call call, Cell key, @Nullable Object before, @Nullable Entry after) {
    boolean was = before instanceof Entry entry && isWaitedFor(entry);
    boolean is = after != null && isWaitedFor(after);
    if (is && before == null) {
      note(call, key, Change.FILLED);
    } else if (is || was) {
      note(call, key, is == was ? Change.OTHER : Change.TURNED);
    }
  }

  private static boolean isWaitedFor(Entry entry) {
    return switch (entry.kind()) {
      case LIST, SORTED, STREAM -> true;
      case STRING, HASH, SET -> false;
    };
  }

  /** A command has put something more under a key, for which somebody may wait. */
  static void noteMore(Call call, Cell key) {
    note(call, key, Change.FILLED);
  }

  /** A command has filled keys, in an order of the store's own. */
  static void noteMany(Call call) {
    put(call, List.of());
  }

  private static void put(Call call, List<Cell> keys) {
    call.state().put(PLACE, new Filled(call.operation().within(), keys));
  }

  private static void note(Call call, Cell key, Change change) {
    var present = in(call.state());
    if (present != null && present.row == call.operation().within()) {
      present.goOn(call, key, change);
    } else if (call.isPart() && change != Change.OTHER) {
      put(call, change == Change.FILLED ? List.of(key) : List.of());
    } else if (present != null && !hasWaited(call)) {
      call.state().clear(PLACE);
    }
  }

  /** Another command of the same transaction. */
  private void goOn(Call call, Cell key, Change change) {
    if (!keys.isEmpty() && !keys.contains(key) && change != Change.OTHER) {
      var more = new ArrayList<>(keys);
      more.add(key);
      put(call, change == Change.FILLED ? List.copyOf(more) : List.of());
    }
  }

  private static boolean hasWaited(Call call) {
    return WAITING.contains(call.option(0)) && !call.isPart();
  }

  /**
   * From which of some keys that all hold something a command was served that waits if it has to;
   * empty if it has not waited.
   *
   * @param told the one of which the reply speaks
   * @throws UnsupportedOperationException if it is not known whether it has waited
   */
  static Optional<Cell> served(Call call, List<Cell> holding, Cell told) {
    var present = in(call.state());
    if (present == null || !present.mayServe(holding, told)) {
      return Optional.empty();
    }
    if (present.keys.isEmpty() || present.row < call.operation().row()) {
      // It may have come when all of them were there.
      throw new UnsupportedOperationException("who came first is not known");
    }
    return Optional.of(told);
  }

  private boolean mayServe(List<Cell> holding, Cell told) {
    return keys.isEmpty()
        || (keys.containsAll(holding)
            && keys.stream().filter(holding::contains).findFirst().equals(Optional.of(told)));
  }
}

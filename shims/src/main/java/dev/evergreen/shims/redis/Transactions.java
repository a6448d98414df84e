package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.State;
import dev.evergreen.provenance.Touch;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a connection watches: a cell for each key, which its WATCH writes. An EXEC that was not
 * carried out looks at these cells and at the keys: so whoever wrote a key last belongs to its
 * witness, and so does the WATCH. But who wrote last need not be enough: without what was there
 * before, a removal is no write. The model tells, where it knows what was there: it notes of each
 * watched key whether it was written since.
 */
final class Transactions {
  static final String FAMILY = "transactions";
  private static final Cell WATCHES = Cell.of("w");

  /** They change what is watched. */
  private static final List<String> WATCHING =
      List.of("WATCH", "UNWATCH", "EXEC", "DISCARD", "RESET");

  private static final Bytes NIL = Bytes.of("*-1\r\n");
  private static final Bytes NIL_OF_THREE = Bytes.of("_\r\n");
  private static final Bytes OK = Bytes.of("+OK\r\n");
  private static final Bytes NOTHING = Bytes.of("*0\r\n");
  private static final Bytes REFUSED = Bytes.of("-");
  private static final Bytes WITHOUT_MULTI = Bytes.of("-ERR EXEC without MULTI");

  private Transactions() {}

  static void define(Commands commands) {
    var c = commands.family(FAMILY);
    c.on("WATCH", Transactions::touchWatch, Transactions::watch);
    c.on("EXEC", Transactions::touchUnknown, Commands.NOT_MODELLED);
  }

  /** Of an EXEC without parts: if it may have had some, they may have done anything. */
  private static void touchUnknown(Call call) {
    if (isUnknown(call.operation())) {
      call.reads(Call.DATABASES);
      call.touch(Touch.changes(Call.DATABASES).effect(Touch.Effect.UNKNOWN));
    }
  }

  /**
   * Whether it is an EXEC that has carried out nothing, and the record does not tell why: another
   * command was refused, nothing was queued, or it is not known what was watched.
   */
  static boolean isUntold(Operation operation) {
    return RedisKind.is(operation, "EXEC") && operation.parts().isEmpty() && !isUnknown(operation);
  }

  /** Whether it is an EXEC that may have carried out what is not known of it. */
  static boolean isUnknown(Operation operation) {
    var reply = operation.reply();
    return RedisKind.is(operation, "EXEC")
        && operation.parts().isEmpty()
        && (reply == null || !(isNil(reply) || reply.equals(NOTHING) || reply.startsWith(REFUSED)));
  }

  private static void touchWatch(Call call) {
    for (int i = 1; i < call.words(); i++) {
      var watch = cell(call, i);
      if (call.repliedNil()) {
        call.reads(List.of(watch, call.key(i)));
      } else {
        call.touch(Touch.replaces(watch));
      }
    }
  }

  private static Cell cell(Call call, int at) {
    return Cell.of("w", call.connection(), call.database().name().text()).child(call.word(at));
  }

  /** Whether a key was written since it is watched. */
  private enum Written {
    NO,
    /** It has the same value, but something has looked like a write, and may be one to Redis. */
    MAYBE,
    YES
  }

  /**
   * A key that is watched.
   *
   * @param since the row of the WATCH
   * @param over whether it had expired by then, and counts as not there, removed or not
   */
  private record Watch(Cell key, long since, boolean over, Written written) {
    Watch after(Written more) {
      return more.compareTo(written) > 0 ? new Watch(key, since, over, more) : this;
    }

    /** What is there, as far as it counts. */
    @Nullable Object value(State state) {
      var value = known(state, key);
      return over && hasExpired(value, state) ? null : value;
    }
  }

  /** All that is watched, by the cells of the watches. */
  private record Watches(Map<Cell, Watch> all) {
    static final Watches NONE = new Watches(Map.of());

    /**
     * Those of a state. They are in one place, of which all is known as soon as somebody watches
     * something, whatever else is known.
     */
    static Watches in(State state) {
      return known(state, WATCHES) instanceof Watches watches ? watches : NONE;
    }
  }

  /** Stands for what is not known. */
  private static final Object UNKNOWN = new Object();

  /** What is in a cell, or something that nothing else is if that is not known. */
  static @Nullable Object known(State state, Cell cell) {
    try {
      return state.get(cell);
    } catch (RuntimeException unknown) {
      return UNKNOWN;
    }
  }

  /** Begins to watch; or tells what an EXEC that was stopped would have found. */
  private static Object watch(Call call) {
    if (call.reply() instanceof Resp.Failure) {
      throw new UnsupportedOperationException("amid a transaction nothing is watched");
    }
    if (isLook(call.operation())) {
      return look(call);
    }
    var watches = new HashMap<>(Watches.in(call.state()).all);
    for (int i = 1; i < call.words(); i++) {
      var key = call.key(i);
      boolean over = hasExpired(known(call.state(), key), call.state());
      watches.put(cell(call, i), new Watch(key, call.operation().row(), over, Written.NO));
    }
    call.state().put(WATCHES, new Watches(Map.copyOf(watches)));
    return Call.OK;
  }

  /** Whether it is the look of an EXEC that was stopped at what is watched. */
  static boolean isLook(Operation operation) {
    var reply = operation.reply();
    return RedisKind.is(operation, "WATCH") && reply != null && isNil(reply);
  }

  /** Its row is that of the first WATCH that counts: others before were over. */
  private static Object look(Call call) {
    var watches = Watches.in(call.state()).all;
    var found = Written.NO;
    for (int i = 1; i < call.words(); i++) {
      var watch = watches.get(cell(call, i));
      if (watch != null && watch.since >= call.operation().row()) {
        var written = written(call, watch);
        found = written.compareTo(found) > 0 ? written : found;
      }
    }
    return switch (found) {
      case YES -> Resp.NIL;
      case MAYBE -> throw new UnsupportedOperationException("what was written is not known");
      case NO -> {
        if (Set.copyOf(call.from(1)).size() < call.words() - 1) {
          throw new UnsupportedOperationException("what was written between two of its WATCHes");
        }
        // It would have been carried out.
        yield Call.OK;
      }
    };
  }

  private static boolean hasExpired(@Nullable Object value, State state) {
    return value instanceof Entry entry && Call.expired(entry, state);
  }

  /** Also if nobody has written it, but its deadline has passed since. */
  private static Written written(Call call, Watch watch) {
    var value = watch.value(call.state());
    return hasExpired(value, call.state())
        ? Written.YES
        : value == UNKNOWN ? watch.after(Written.MAYBE).written : watch.written;
  }

  /** Runs a command, and notes which of the watched keys it has written. */
  static Object noting(State state, Supplier<Object> command, Supplier<List<Touch>> touches) {
    var watches = Watches.in(state).all;
    if (watches.isEmpty()) {
      return command.get();
    }
    var before = new HashMap<Cell, @Nullable Object>();
    watches.forEach((cell, watch) -> before.put(cell, watch.value(state)));
    try {
      return command.get();
    } finally {
      // What watches writes nothing that is watched.
      if (watches.equals(Watches.in(state).all)) {
        var after = new HashMap<>(watches);
        after.replaceAll(
            (cell, watch) ->
                watch.after(
                    written(before.get(cell), watch.value(state), watch.key, touches.get())));
        state.put(WATCHES, new Watches(Map.copyOf(after)));
      }
    }
  }

  private static Written written(
      @Nullable Object before, @Nullable Object after, Cell key, List<Touch> touches) {
    boolean isKnown = before != UNKNOWN && after != UNKNOWN;
    if (isKnown && !Objects.equals(before, after)) {
      return Written.YES;
    }
    boolean isThere = after != null && after != UNKNOWN;
    if (isThere && touches.stream().anyMatch(touch -> replaces(touch, key))) {
      return Written.YES;
    }
    boolean nothing = isKnown && after == null;
    boolean mayWrite = touches.stream().anyMatch(touch -> mayWrite(touch, key));
    return !nothing && mayWrite ? Written.MAYBE : Written.NO;
  }

  private static boolean replaces(Touch touch, Cell key) {
    return touch.kind() == Touch.Kind.REPLACES
        && touch.effect() == Touch.Effect.YES
        && touch.cell().equals(key);
  }

  private static boolean mayWrite(Touch touch, Cell key) {
    return touch.writes() && touch.effect() != Touch.Effect.NO && touch.cell().overlaps(key);
  }

  static boolean isNil(Bytes reply) {
    return reply.equals(NIL) || reply.equals(NIL_OF_THREE);
  }

  /**
   * What the connection of an EXEC watches, as one WATCH in its place with its reply. Empty if that
   * is in several databases, or if nobody knows what became of a WATCH or EXEC before.
   */
  static List<Operation> watched(Operation exec, Iterator<Operation> earlier) {
    var keys = new ArrayList<Bytes>();
    @Nullable Operation last = null;
    while (earlier.hasNext()) {
      var operation = earlier.next();
      if (endsWatching(operation)) {
        break;
      }
      if (isUnheard(operation)) {
        return List.of();
      }
      if (isSought(operation)) {
        if (last != null && !last.space().equals(operation.space())) {
          return List.of();
        }
        last = operation;
        keys.addAll(operation.request().subList(1, operation.request().size()));
      }
    }
    if (last == null) {
      return List.of();
    }
    keys.addFirst(last.request().getFirst());
    return List.of(last.within(exec, keys, exec.reply()));
  }

  private static boolean isOk(Operation operation) {
    return operation.reply() != null && operation.reply().equals(OK);
  }

  /** Whether more may be watched since, or less, as there is no reply. */
  private static boolean isUnheard(Operation operation) {
    var reply = operation.reply();
    return (reply == null || reply.length() == 0)
        && WATCHING.stream().anyMatch(name -> RedisKind.is(operation, name));
  }

  /** Whether an EXEC that is stopped looks for it, up to one that {@link #endsSearch}. */
  static boolean isSought(Operation operation) {
    return RedisKind.is(operation, "WATCH") && isOk(operation);
  }

  /** Whether no later EXEC looks for what its connection did before it. */
  static boolean endsSearch(Operation operation) {
    return endsWatching(operation) || isUnheard(operation);
  }

  /** An EXEC that is refused for want of a MULTI leaves what is watched. */
  private static boolean endsWatching(Operation operation) {
    var reply = operation.reply();
    if (operation.request().isEmpty() || reply == null) {
      return false;
    }
    return switch (operation.request().getFirst().text().toUpperCase(Locale.ROOT)) {
      case "EXEC" -> reply.length() > 0 && !reply.startsWith(WITHOUT_MULTI);
      case "RESET" -> true;
      case "UNWATCH", "DISCARD" -> isOk(operation);
      default -> false;
    };
  }

  /**
   * These, each in the database in which it was carried out: what was queued behind a SELECT was on
   * record before that.
   */
  static List<Operation> inDatabases(List<Operation> parts) {
    var placed = new ArrayList<Operation>();
    @Nullable String selected = null;
    for (var part : parts) {
      placed.add(selected == null ? part : part.in(selected));
      if (RedisKind.is(part, "SELECT") && part.request().size() == 2 && isOk(part)) {
        selected = part.request().get(1).text();
      }
    }
    return placed;
  }

  /** These, whose replies are not known; none if a SELECT among them may have been refused. */
  static List<Operation> unlessMoved(List<Operation> parts) {
    return parts.stream().anyMatch(part -> RedisKind.is(part, "SELECT")) ? List.of() : parts;
  }

  /** What was queued, in the place of the EXEC that carried it out. */
  static Operation replied(Operation part, Operation exec, @Nullable Bytes reply) {
    return part.within(exec, part.request(), reply);
  }
}

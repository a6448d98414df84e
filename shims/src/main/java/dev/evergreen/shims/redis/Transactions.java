package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Touch;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a connection watches: a cell for each key, which its WATCH writes. An EXEC that was not
 * carried out looks at these cells and at the keys: so whoever wrote a key last belongs to its
 * witness, and so does the WATCH.
 */
final class Transactions {
  static final String FAMILY = "transactions";
  private static final Bytes NIL = Bytes.of("*-1\r\n");
  private static final Bytes NIL_OF_THREE = Bytes.of("_\r\n");
  private static final Bytes OK = Bytes.of("+OK\r\n");
  private static final Bytes NOTHING = Bytes.of("*0\r\n");
  private static final Bytes REFUSED = Bytes.of("-");
  private static final Bytes WITHOUT_MULTI = Bytes.of("-ERR EXEC without MULTI");

  private Transactions() {}

  static void define(Commands commands) {
    var c = commands.family(FAMILY);
    c.on("WATCH", Transactions::touchWatch, Commands.NOT_MODELLED);
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
      var watch =
          Cell.of("w", call.connection(), call.database().name().text()).child(call.word(i));
      if (call.repliedNil()) {
        call.reads(List.of(watch, call.key(i)));
      } else {
        call.touch(Touch.replaces(watch));
      }
    }
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
      if (RedisKind.is(operation, "WATCH") && isOk(operation)) {
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
    return (RedisKind.is(operation, "WATCH") || RedisKind.is(operation, "EXEC"))
        && (reply == null || reply.length() == 0);
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

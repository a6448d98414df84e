package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.flag;
import static dev.evergreen.shims.redis.Kind.STRING;

import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import org.jspecify.annotations.Nullable;

/** Deadlines of keys. */
final class Expiry {
  private Expiry() {}

  static void define(Commands commands) {
    var c = commands.family("expiry");
    c.on("EXPIRE PEXPIRE EXPIREAT PEXPIREAT", Expiry::touchExpire, Expiry::expire);
    c.on("PERSIST", call -> call.deadlines(call.key(1), call.replied(1)), Expiry::persist);
    c.on("TTL PTTL EXPIRETIME PEXPIRETIME", call -> call.reads(call.key(1)), Expiry::left);
    c.on("GETEX", Expiry::touchGet, Expiry::get);
  }

  /** The deadline that the command sets, or null if it sets none. */
  static @Nullable Deadline deadline(Call call) {
    return switch (call.option(0)) {
      case "EXPIRE" -> Deadline.after(call.operation(), milliseconds(call));
      case "PEXPIRE" -> Deadline.after(call.operation(), call.number(2));
      case "EXPIREAT" -> Deadline.at(call.operation(), milliseconds(call));
      case "PEXPIREAT" -> Deadline.at(call.operation(), call.number(2));
      case "SETEX", "PSETEX" -> Strings.deadline(call, call.option(0).equals("SETEX"), 2);
      case "SET" -> Strings.deadline(call, 3);
      case "RESTORE" -> restored(call);
      case "GETEX" -> Strings.deadline(call, 2);
      default -> null;
    };
  }

  private static @Nullable Deadline restored(Call call) {
    long time = call.count(2);
    return time == 0
        ? null
        : call.has("ABSTTL", 4)
            ? Deadline.at(call.operation(), time)
            : Deadline.after(call.operation(), time);
  }

  private static long milliseconds(Call call) {
    return Math.multiplyExact(call.number(2), 1000);
  }

  /** Whether the deadline may have passed already, so that the key goes. */
  private static boolean mayBeOver(Call call) {
    try {
      var deadline = deadline(call);
      return deadline != null && deadline.earliest() <= Deadline.until(call.operation());
    } catch (Refusal | ArithmeticException refused) {
      return false;
    }
  }

  private static void touchExpire(Call call) {
    call.deadlines(call.key(1), call.replied(1));
    if (mayBeOver(call)) {
      call.touch(Touch.changes(call.key(1)).effect(call.replied(1)));
    }
  }

  private static Object expire(Call call) {
    var entry = call.entry(call.key(1));
    var deadline = deadline(call);
    if (entry == null || deadline == null || !allowed(call, entry.deadline(), deadline)) {
      return 0L;
    }
    setDeadline(call, call.key(1), entry, deadline);
    return 1L;
  }

  private static boolean allowed(Call call, @Nullable Deadline old, Deadline deadline) {
    return !(call.has("NX", 3) && old != null)
        && !(call.has("XX", 3) && old == null)
        && !(call.has("GT", 3) && (old == null || !isAfter(call, deadline, old)))
        && !(call.has("LT", 3) && old != null && !isAfter(call, old, deadline));
  }

  /** Whether one of them is later; if nobody knows, that the command was carried out tells. */
  private static boolean isAfter(Call call, Deadline one, Deadline other) {
    if (!one.mayBeEither(other)) {
      return one.isAfter(other);
    }
    if (call.reply() instanceof Long done) {
      return done == 1;
    }
    throw new UnsupportedOperationException("nobody knows which of them is earlier");
  }

  private static void setDeadline(Call call, Cell key, Entry entry, @Nullable Deadline deadline) {
    if (deadline != null && deadline.isOver(call.operation(), call.state())) {
      call.remove(key);
    } else {
      call.put(key, new Entry(entry.kind(), entry.content(), deadline));
    }
  }

  private static Object persist(Call call) {
    var entry = call.entry(call.key(1));
    boolean had = entry != null && entry.deadline() != null;
    if (entry != null && had) {
      setDeadline(call, call.key(1), entry, null);
    }
    return flag(had);
  }

  /**
   * How much is left, or when the key expires by the clock of Redis. That is known up to the time
   * in which the commands were under way, and as far as that clock is; if the recorded reply lies
   * within that, it is the reply.
   */
  private static Object left(Call call) {
    var entry = call.entry(call.key(1));
    var deadline = entry == null ? null : entry.deadline();
    if (deadline == null) {
      return entry == null ? -2L : -1L;
    }
    boolean absolute = call.option(0).endsWith("TIME");
    var named = deadline.named();
    if (absolute && named != null) {
      return shown(call, named);
    }
    var operation = call.operation();
    var skew = operation.skew();
    long least =
        shown(
            call,
            absolute ? skew.earliestThere(deadline.earliest()) : deadline.leastLeft(operation));
    long most =
        shown(call, absolute ? skew.latestThere(deadline.latest()) : deadline.mostLeft(operation));
    if (call.reply() instanceof Long told && least <= told && told <= most) {
      return told;
    }
    return least == most ? (Object) most : new Between(least, most, deadline.isOpen());
  }

  /** A reply of which nobody knows more. */
  record Between(long least, long most, boolean open) {
    @Override
    public String toString() {
      return open ? "at least " + least : "between %d and %d".formatted(least, most);
    }
  }

  private static long shown(Call call, long milliseconds) {
    long left = Math.max(0, milliseconds);
    return call.option(0).startsWith("P") ? left : left / 1000 + (left % 1000 + 500) / 1000;
  }

  private static void touchGet(Call call) {
    call.reads(STRING, call.key(1));
    boolean changes = call.words() > 2 && !call.repliedNil();
    call.deadlines(call.key(1), changes);
    if (mayBeOver(call)) {
      call.touch(Touch.changes(call.key(1)).effect(changes));
    }
  }

  private static Object get(Call call) {
    var value = call.string(call.key(1));
    var entry = call.entry(call.key(1));
    if (value != null && entry != null && call.words() > 2) {
      setDeadline(call, call.key(1), entry, deadline(call));
    }
    return Call.orNil(value);
  }
}

package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Call.flag;
import static dev.evergreen.shims.redis.Kind.STRING;

import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Deadlines of keys. */
final class Expiry {
  private Expiry() {}

  static void define(Commands commands) {
    var c = commands.family("expiry");
    c.on("EXPIRE PEXPIRE EXPIREAT PEXPIREAT", Expiry::touchExpire, Expiry::expire);
    c.on("PERSIST", call -> call.deadlines(call.key(1), call.replied(1)), Expiry::persist);
    c.on(
        "TTL PTTL EXPIRETIME PEXPIRETIME",
        call -> call.reads(call.key(1)),
        Expiry::left,
        Expiry::rounded);
    c.on("GETEX", Expiry::touchGet, Expiry::get);
  }

  /** The moment that the command sets as a deadline, or null if it sets none. */
  static @Nullable Instant deadline(Call call) {
    return switch (call.option(0)) {
      case "EXPIRE" -> call.after(Duration.ofSeconds(call.number(2)));
      case "PEXPIRE" -> call.after(Duration.ofMillis(call.number(2)));
      case "EXPIREAT" -> Instant.ofEpochSecond(call.number(2));
      case "PEXPIREAT" -> Instant.ofEpochMilli(call.number(2));
      case "SETEX" -> call.after(Duration.ofSeconds(call.number(2)));
      case "PSETEX" -> call.after(Duration.ofMillis(call.number(2)));
      case "SET" -> Strings.deadline(call, 3);
      case "GETEX" -> Strings.deadline(call, 2);
      default -> null;
    };
  }

  private static boolean past(Call call) {
    var deadline = deadline(call);
    return deadline != null && !deadline.isAfter(call.sent());
  }

  private static void touchExpire(Call call) {
    call.deadlines(call.key(1), call.replied(1));
    if (past(call)) {
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

  private static boolean allowed(Call call, @Nullable Instant old, Instant deadline) {
    return !(call.has("NX", 3) && old != null)
        && !(call.has("XX", 3) && old == null)
        && !(call.has("GT", 3) && (old == null || !deadline.isAfter(old)))
        && !(call.has("LT", 3) && old != null && !deadline.isBefore(old));
  }

  private static void setDeadline(Call call, Cell key, Entry entry, @Nullable Instant deadline) {
    if (deadline != null && !deadline.isAfter(call.sent())) {
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

  /** What is left is compared as there or not: the clock runs on between two askings. */
  private static Object left(Call call) {
    var entry = call.entry(call.key(1));
    return entry == null ? -2L : entry.deadline() == null ? -1L : (Object) "some time";
  }

  private static Object rounded(Object reply) {
    return reply instanceof Long number && number >= 0 ? "some time" : reply;
  }

  private static void touchGet(Call call) {
    call.reads(STRING, call.key(1));
    boolean changes = call.words() > 2 && !call.repliedNil();
    call.deadlines(call.key(1), changes);
    if (past(call)) {
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

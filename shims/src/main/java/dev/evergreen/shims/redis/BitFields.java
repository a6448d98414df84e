package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Kind.STRING;

import java.math.BigInteger;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/** Integers of so many bits in strings; the string is one cell, as a field may lie anywhere. */
final class BitFields {

  /** What a field is: how long, and whether it has a sign. */
  private record Field(boolean signed, int bits) {
    static Field of(String type) {
      boolean signed = type.startsWith("I");
      if (!type.matches("[IU][1-9][0-9]?")) {
        throw new Refusal("ERR");
      }
      int bits = Integer.parseInt(type.substring(1));
      if (bits > (signed ? 64 : 63)) {
        throw new Refusal("ERR");
      }
      return new Field(signed, bits);
    }

    BigInteger least() {
      return signed ? BigInteger.TWO.pow(bits - 1).negate() : BigInteger.ZERO;
    }

    BigInteger most() {
      return BigInteger.TWO.pow(signed ? bits - 1 : bits).subtract(BigInteger.ONE);
    }

    /** The value that has the lowest bits of another one. */
    BigInteger wrapped(BigInteger value) {
      var low = value.mod(BigInteger.TWO.pow(bits));
      return low.compareTo(most()) > 0 ? low.subtract(BigInteger.TWO.pow(bits)) : low;
    }

    /** The value as it is kept; null if it is refused. */
    @Nullable BigInteger kept(BigInteger value, String overflow) {
      boolean above = value.compareTo(most()) > 0;
      if (!above && value.compareTo(least()) >= 0) {
        return value;
      }
      return switch (overflow) {
        case "SAT" -> above ? most() : least();
        case "FAIL" -> null;
        default -> wrapped(value);
      };
    }

    BigInteger read(byte[] bytes, long at) {
      var value = BigInteger.ZERO;
      for (long i = at; i < at + bits; i++) {
        value = value.shiftLeft(1);
        if (i / 8 < bytes.length && (bytes[(int) (i / 8)] >> (7 - i % 8) & 1) != 0) {
          value = value.setBit(0);
        }
      }
      return wrapped(value);
    }

    void write(byte[] bytes, long at, BigInteger value) {
      for (int i = 0; i < bits; i++) {
        int mask = 0x80 >> (at + i) % 8;
        int place = (int) ((at + i) / 8);
        bytes[place] =
            (byte) (value.testBit(bits - 1 - i) ? bytes[place] | mask : bytes[place] & ~mask);
      }
    }
  }

  private BitFields() {}

  static void define(Commands commands) {
    var c = commands.family("bit fields");
    c.on("BITFIELD", BitFields::touch, BitFields::run);
    c.on("BITFIELD_RO", call -> call.reads(STRING, call.key(1)), BitFields::run);
  }

  private static boolean writes(Call call) {
    return call.has("SET", 2) || call.has("INCRBY", 2);
  }

  /** A field that is refused makes the string longer nevertheless. */
  private static void touch(Call call) {
    if (writes(call)) {
      call.changes(STRING, call.key(1), true);
    } else {
      call.reads(STRING, call.key(1));
    }
  }

  private static long offset(Call call, int at, Field field) {
    var text = call.plain(at);
    boolean counted = text.text().startsWith("#");
    long offset = Call.number(counted ? text.slice(1, text.length()) : text);
    if (offset < 0) {
      throw new Refusal("ERR");
    }
    return counted ? offset * field.bits : offset;
  }

  private static Object run(Call call) {
    var bytes = grown(call);
    var overflow = "WRAP";
    var replies = new ArrayList<Object>();
    for (int at = 2; at < call.words(); ) {
      if (call.option(at).equals("OVERFLOW")) {
        overflow = call.option(at + 1);
        at += 2;
        continue;
      }
      var field = Field.of(call.option(at + 1));
      long offset = offset(call, at + 2, field);
      var old = field.read(bytes, offset);
      switch (call.option(at)) {
        case "GET" -> {
          replies.add(old.longValue());
          at += 3;
        }
        case "SET" -> {
          var wanted = BigInteger.valueOf(call.number(at + 3));
          if (!field.signed && wanted.signum() < 0) {
            // It is taken for a number without a sign.
            wanted = wanted.add(BigInteger.TWO.pow(64));
          }
          replies.add(write(field, bytes, offset, field.kept(wanted, overflow), old));
          at += 4;
        }
        case "INCRBY" -> {
          var kept = field.kept(old.add(BigInteger.valueOf(call.number(at + 3))), overflow);
          replies.add(write(field, bytes, offset, kept, kept));
          at += 4;
        }
        default -> throw new Refusal("ERR");
      }
    }
    if (writes(call)) {
      call.change(call.key(1), STRING, dev.evergreen.provenance.Bytes.of(bytes));
    }
    return replies;
  }

  private static Object write(
      Field field, byte[] bytes, long at, @Nullable BigInteger value, @Nullable BigInteger reply) {
    if (value == null || reply == null) {
      return Resp.NIL;
    }
    field.write(bytes, at, value);
    return reply.longValue();
  }

  /** The string, as long as the last field that may be written needs it. */
  private static byte[] grown(Call call) {
    long length = 0;
    for (int at = 2; at < call.words(); ) {
      switch (call.option(at)) {
        case "OVERFLOW" -> at += 2;
        case "GET" -> at += 3;
        default -> {
          var field = Field.of(call.option(at + 1));
          length = Math.max(length, (offset(call, at + 2, field) + field.bits + 7) / 8);
          at += 4;
        }
      }
    }
    return Strings.grown(Strings.bytes(call, call.key(1)), length);
  }
}

package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads whole values of Redis's protocol, of version 2 or 3, from bytes that are all there.
 *
 * <p>What the versions write in different ways, but clients mean the same by, is one here: maps,
 * sets and pushes are lists, nothing is {@link #NIL}, truth is 1 or 0, numbers with a fraction are
 * texts, and attributes are passed over.
 */
public final class Resp {
  /** The value that is none. */
  public static final Object NIL =
      new Object() {
        @Override
        public String toString() {
          return "(nil)";
        }
      };

  /** An error as a reply. Two are equal if they are of the same kind, which their first word is. */
  public record Failure(String kind) {}

  /** A script can answer lists within lists so deep that to read them would end the thread. */
  private static final int DEEPEST = 500;

  private final Bytes bytes;
  private int place;
  private int depth;

  private Resp(Bytes bytes) {
    this.bytes = bytes;
  }

  /**
   * The first value: a {@link Bytes}, a {@link Long}, a {@link List} of values, an {@link Failure}
   * or {@link #NIL}.
   *
   * @throws IllegalArgumentException if the bytes are not one
   */
  public static Object read(Bytes bytes) {
    return new Resp(bytes).value();
  }

  /** The bytes of the first value. */
  public static Bytes first(Bytes bytes) {
    var reader = new Resp(bytes);
    reader.value();
    return bytes.slice(0, reader.place);
  }

  /** All values, one after the other. */
  public static List<Object> readAll(Bytes bytes) {
    var reader = new Resp(bytes);
    var all = new ArrayList<>();
    while (reader.place < bytes.length()) {
      all.add(reader.value());
    }
    return all;
  }

  /** The bytes of each value, one after the other. */
  public static List<Bytes> split(Bytes bytes) {
    var reader = new Resp(bytes);
    var all = new ArrayList<Bytes>();
    while (reader.place < bytes.length()) {
      int from = reader.place;
      reader.value();
      all.add(bytes.slice(from, reader.place));
    }
    return all;
  }

  /** The bytes of each element of a list; none if the value is no list. */
  public static List<Bytes> elements(Bytes list) {
    var reader = new Resp(list);
    boolean holds = reader.next() == '*' && reader.line().at(0) != '-';
    return holds ? split(list.slice(reader.place, list.length())) : List.of();
  }

  /**
   * The words of a command, as clients send it: an array of strings. Not those that come as a line.
   *
   * @throws IllegalArgumentException if the bytes are not a command
   */
  public static List<Bytes> command(Bytes bytes) {
    var words = new ArrayList<Bytes>();
    if (read(bytes) instanceof List<?> list) {
      for (var word : list) {
        if (!(word instanceof Bytes text)) {
          throw new IllegalArgumentException("a command's words are strings, not " + word);
        }
        words.add(text);
      }
    }
    return words;
  }

  /** A command as clients send it, as an array of strings. */
  public static byte[] write(List<Bytes> words) {
    var out = new ByteArrayOutputStream();
    out.writeBytes(("*" + words.size() + "\r\n").getBytes(StandardCharsets.US_ASCII));
    for (var word : words) {
      out.writeBytes(("$" + word.length() + "\r\n").getBytes(StandardCharsets.US_ASCII));
      out.writeBytes(word.toArray());
      out.writeBytes(new byte[] {'\r', '\n'});
    }
    return out.toByteArray();
  }

  private Object value() {
    if (depth == DEEPEST) {
      throw new IllegalArgumentException("values within values deeper than " + DEEPEST);
    }
    depth++;
    var value = value(next());
    depth--;
    return value;
  }

  private Object value(int kind) {
    return switch (kind) {
      case '+', ',', '(' -> line();
      case '-' -> error(line());
      case ':' -> Long.parseLong(line().text());
      case '#' -> line().equals(Bytes.of("t")) ? 1L : 0L;
      case '_' -> {
        line();
        yield NIL;
      }
      case '$' -> string(0);
      case '=' -> string(4);
      case '!' -> error((Bytes) string(0));
      case '*', '~', '>' -> list(1);
      case '%' -> list(2);
      case '|' -> {
        list(2);
        yield value();
      }
      default ->
          throw new IllegalArgumentException(
              "no value begins with the byte " + kind + ", at " + (place - 1));
    };
  }

  private static Object error(Bytes text) {
    return new Failure(text.text().split(" ", 2)[0]);
  }

  /** A string, without so many bytes at its beginning. */
  private Object string(int skip) {
    int length = Integer.parseInt(line().text());
    if (length < 0) {
      return NIL;
    }
    need(length + 2L);
    var text = bytes.slice(place + Math.min(skip, length), place + length);
    place += length + 2;
    return text;
  }

  private Object list(int valuesEach) {
    int length = Integer.parseInt(line().text());
    if (length < 0) {
      return NIL;
    }
    var list = new ArrayList<>();
    for (long i = 0; i < (long) length * valuesEach; i++) {
      list.add(value());
    }
    return List.copyOf(list);
  }

  private Bytes line() {
    int from = place;
    while (next() != '\r') {
      // on to the line's end
    }
    if (next() != '\n') {
      throw new IllegalArgumentException(
          "a line ends with CR and LF, not with CR alone, at " + (place - 2));
    }
    return bytes.slice(from, place - 2);
  }

  private int next() {
    need(1);
    return bytes.at(place++);
  }

  private void need(long more) {
    if (place + more > bytes.length()) {
      throw new IllegalArgumentException(
          "the value ends after " + bytes.length() + " bytes, inside itself");
    }
  }
}

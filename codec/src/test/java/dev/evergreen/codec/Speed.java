package dev.evergreen.codec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A quick look at how long the operations take; not a test, as machines differ. */
final class Speed {
  enum Kind {
    A,
    B
  }

  record Message(String author, String text, long time, Kind kind) {}

  private Speed() {}

  public static void main(String[] args) {
    var messages = new ArrayList<Message>();
    var byAuthor = new HashMap<String, Message>();
    for (int i = 0; i < 100; i++) {
      var message = new Message("author" + i % 7, "a text of some length " + i, i, Kind.B);
      messages.add(message);
      byAuthor.put("key" + i, message);
    }
    var codec = Codec.create(Limits.DEFAULT);
    ValueType list = codec.of(new Generic(List.class, Message.class));
    byte[] bytes = list.encode(messages);
    Object frozen = Objects.requireNonNull(list.freeze(messages));
    ValueType map = codec.of(new Generic(java.util.Map.class, String.class, Message.class));
    byte[] mapBytes = map.encode(byAuthor);
    ValueType text = codec.of(String.class);
    ValueType number = codec.of(Long.class);
    System.out.println("100 records take " + bytes.length + " bytes");
    measure("encode 100 records", () -> list.encode(messages));
    measure("decode 100 records", () -> list.decode(bytes));
    measure("freeze 100 records", () -> list.freeze(messages));
    measure("freeze 100 frozen records", () -> list.freeze(frozen));
    measure("compare 100 records", () -> list.same(frozen, list.decode(bytes)));
    measure("encode a map of 100", () -> map.encode(byAuthor));
    measure("decode a map of 100", () -> map.decode(mapBytes));
    measure("freeze a string", () -> text.freeze("some text"));
    measure("encode a string", () -> text.encode("some text"));
    measure("freeze a long", () -> number.freeze(7L));
  }

  private static void measure(String what, Supplier<@Nullable Object> operation) {
    long[] best = new long[8];
    for (int round = 0; round < best.length; round++) {
      long start = System.nanoTime();
      int count = 0;
      while (System.nanoTime() - start < 200_000_000) {
        for (int i = 0; i < 100; i++) {
          sink = operation.get();
        }
        count += 100;
      }
      best[round] = (System.nanoTime() - start) / count;
    }
    Arrays.sort(best);
    System.out.println(what + ": " + best[0] + " ns");
  }

  static volatile @Nullable Object sink;
}

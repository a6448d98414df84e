package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Answer;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.TraceContext;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Random messages of every type, with the values that are hard to get right. */
final class Messages {

  static final int TYPES = 17;

  private static final List<String> TEXTS =
      List.of(
          "",
          "a",
          "dev.evergreen.Cell",
          "text(java.lang.String)",
          "\0",
          "\u007f\u0080\u07ff\u0800\uffff",
          "ÄÖÜß€",
          "😀 and 𝄞",
          "\ud800",
          "\udc00\ud800",
          "a\ud83d",
          "\ude00z",
          "x".repeat(126),
          "x".repeat(127),
          "x".repeat(128),
          "é".repeat(64),
          "long ".repeat(2_000));

  private final Random random;

  Messages(Random random) {
    this.random = random;
  }

  Message next() {
    return ofType(random.nextInt(TYPES));
  }

  Message ofType(int type) {
    return switch (type) {
      case 0 ->
          new Message.Call(
              number(),
              number(),
              grain(),
              text(),
              bytes(),
              flag(),
              some(4, this::hop),
              number(),
              trace());
      case 1 -> new Message.Reply(number(), answer(), number());
      case 2 -> new Message.Subscribe(number(), some(5, this::subscription), flag());
      case 3 -> {
        var notHere = some(5, this::key);
        yield new Message.SubscribeAnswer(
            number(),
            notHere,
            some(5, this::update),
            some(5, this::key),
            random.nextInt(notHere.size() + 1));
      }
      case 4 -> new Message.Unsubscribe(some(5, this::subscription));
      case 5 -> new Message.Push(number(), some(5, this::update));
      case 6 -> new Message.PushAck(number());
      case 7 -> new Message.Moved(some(5, this::key));
      case 8 -> new Message.Probe(number(), some(5, this::key));
      case 9 -> new Message.ProbeAnswer(number(), some(4, this::readers));
      case 10 -> new Message.Inspect(number());
      case 11 -> new Message.Hasten(number(), number());
      case 12 -> new Message.Unreachable(some(5, this::key));
      case 13 -> new Message.Settle(fence(), key(), number());
      case 14 -> new Message.Settled(fence(), key(), version());
      case 15 -> new Message.Withdraw(number());
      default -> new Message.Inspected(number(), bytes());
    };
  }

  private @Nullable TraceContext trace() {
    return flag() ? new TraceContext(text(), text()) : null;
  }

  private <T> List<T> some(int most, Supplier<T> one) {
    return Stream.generate(one).limit(random.nextInt(most)).toList();
  }

  private boolean flag() {
    return random.nextBoolean();
  }

  private long number() {
    return switch (random.nextInt(6)) {
      case 0 -> random.nextLong();
      case 1 -> Long.MIN_VALUE >> random.nextInt(64);
      case 2 -> Long.MAX_VALUE >> random.nextInt(64);
      default -> random.nextInt(1_000);
    };
  }

  private int small() {
    return (int) number();
  }

  String text() {
    if (random.nextInt(3) > 0) {
      return TEXTS.get(random.nextInt(TEXTS.size()));
    }
    var chars = new char[random.nextInt(40)];
    for (int i = 0; i < chars.length; i++) {
      chars[i] = (char) (random.nextInt() >>> (16 + random.nextInt(12)));
    }
    return new String(chars);
  }

  private byte[] bytes() {
    var bytes = new byte[random.nextInt(20) == 0 ? random.nextInt(100_000) : random.nextInt(200)];
    random.nextBytes(bytes);
    return bytes;
  }

  private GrainId grain() {
    return new GrainId(text(), text());
  }

  private SummaryKey key() {
    return new SummaryKey(grain(), text(), bytes());
  }

  private Message.Hop hop() {
    return new Message.Hop(grain(), text(), bytes(), flag(), number(), number());
  }

  private Message.Fence fence() {
    return new Message.Fence(located().node(), number());
  }

  private Message.Version version() {
    return new Message.Version(number(), number());
  }

  private Message.Subscription subscription() {
    return new Message.Subscription(key(), number(), flag() ? version() : null);
  }

  private Message.Update update() {
    return new Message.Update(
        key(), number(), version(), answer(), small(), flag(), flag(), trace());
  }

  private Answer answer() {
    return switch (random.nextInt(3)) {
      case 0 -> new Answer.Returned(bytes());
      case 1 -> new Answer.Threw(failure(1 + random.nextInt(5)));
      default -> new Answer.NotStarted(text(), flag());
    };
  }

  Failure failure(int causes) {
    Failure failure = null;
    for (int i = 0; i < causes; i++) {
      failure = new Failure(text(), flag() ? text() : null, failure, some(4, this::frame));
    }
    return Objects.requireNonNull(failure);
  }

  private Failure.Frame frame() {
    return new Failure.Frame(text(), text(), flag() ? text() : null, small());
  }

  private Message.Readers readers() {
    return new Message.Readers(some(4, this::located), flag());
  }

  private Message.Located located() {
    return new Message.Located(new NodeId(text(), number()), key());
  }

  /** Whether both say the same: the records' own equality takes no look into arrays. */
  static boolean same(Object a, Object b) {
    return switch (a) {
      case byte[] bytes -> b instanceof byte[] other && Arrays.equals(bytes, other);
      case List<?> list ->
          b instanceof List<?> other
              && list.size() == other.size()
              && Stream.iterate(0, i -> i + 1)
                  .limit(list.size())
                  .allMatch(i -> same(list.get(i), other.get(i)));
      case Record record -> record.getClass() == b.getClass() && sameParts(record, (Record) b);
      default -> a.equals(b);
    };
  }

  private static boolean sameParts(Record a, Record b) {
    for (var component : a.getClass().getRecordComponents()) {
      try {
        component.getAccessor().setAccessible(true);
        var x = component.getAccessor().invoke(a);
        var y = component.getAccessor().invoke(b);
        boolean same = (x == null || y == null) ? x == y : same(x, y);
        if (!same) {
          return false;
        }
      } catch (ReflectiveOperationException e) {
        throw new LinkageError("a record hides its parts", e);
      }
    }
    return true;
  }
}

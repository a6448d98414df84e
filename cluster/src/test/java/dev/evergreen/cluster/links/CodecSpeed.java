package dev.evergreen.cluster.links;

import dev.evergreen.codec.Codec;
import dev.evergreen.codec.Limits;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.SummaryKey;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What messages cost by {@link MessageCodec} and by the codec of values, in turns in one process;
 * not a test, as machines differ. {@code -Devergreen.rounds=N} sets how many rounds there are.
 */
final class CodecSpeed {

  private static final int ROUNDS = Integer.getInteger("evergreen.rounds", 60);
  private static final long WARM_UP_NANOS = 2_000_000_000;
  private static final long TURN_NANOS = 100_000_000;

  static volatile @Nullable Object sink;

  /** Writes or reads a message. */
  private interface Work {
    @Nullable Object run() throws Exception;
  }

  private CodecSpeed() {}

  public static void main(String[] arguments) throws Exception {
    var grain = new GrainId("User", "user-1234567");
    var operation = "messages(java.time.Instant)";
    var argument = new byte[60];
    var answer = new Message.Answer.Returned(new byte[100]);
    var update =
        new Message.Update(
            new SummaryKey(grain, operation, argument),
            77,
            new Message.Version(0x1234_5678_9ABC_DEF0L, 12),
            answer,
            3,
            false,
            false,
            null);
    compare(
        "call",
        new Message.Call(123_456, 123_400, grain, operation, argument, true, List.of(), 1, null));
    compare("reply", new Message.Reply(123_456, answer, 1));
    compare("push of one result", new Message.Push(99, List.of(update)));
    compare("push of 20 results", new Message.Push(99, Collections.nCopies(20, update)));
  }

  private static void compare(String what, Message message) throws Exception {
    var values = Codec.create(Limits.DEFAULT).of(Message.class);
    var reader = new MessageCodec.Reader();
    var out = MessageCodec.write(message);
    var bytes = Arrays.copyOfRange(out.bytes(), MessageCodec.HEAD, out.size());
    var described = values.encode(message);
    System.out.println(what + ": " + bytes.length + " bytes, by codec " + described.length);
    compare("write", () -> MessageCodec.write(message), () -> values.encode(message));
    compare("read", () -> reader.read(bytes, 0, bytes.length), () -> values.decode(described));
  }

  private static void compare(String what, Work own, Work codec) throws Exception {
    nanos(own, WARM_UP_NANOS);
    nanos(codec, WARM_UP_NANOS);
    var times = new double[ROUNDS];
    var ratios = new double[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      double other = i % 2 == 0 ? nanos(codec, TURN_NANOS) : 0;
      times[i] = nanos(own, TURN_NANOS);
      ratios[i] = (i % 2 == 0 ? other : nanos(codec, TURN_NANOS)) / times[i];
    }
    Arrays.sort(times);
    Arrays.sort(ratios);
    System.out.printf(
        "%s: %.0f ns; codec takes %.1f times as long (%.1f to %.1f)%n",
        what, times[ROUNDS / 2], ratios[ROUNDS / 2], ratios[ROUNDS / 4], ratios[3 * ROUNDS / 4]);
  }

  /** Of one execution, repeated for this long. */
  private static double nanos(Work work, long forNanos) throws Exception {
    long begun = System.nanoTime();
    long count = 0;
    long taken = 0;
    while (taken < forNanos) {
      for (int i = 0; i < 100; i++) {
        sink = work.run();
      }
      count += 100;
      taken = System.nanoTime() - begun;
    }
    return (double) taken / count;
  }
}

package dev.evergreen.cluster.links;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.SummaryKey;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Messages as bytes. Seeds are printed, and set by {@code -Devergreen.fuzz.seed}; {@code
 * -Devergreen.fuzz.messages} sets how many there are.
 */
@Timeout(120)
class MessageCodecTest {

  private static final int MESSAGES = Integer.getInteger("evergreen.fuzz.messages", 5_000);

  private final MessageCodec.Reader reader = new MessageCodec.Reader();

  private static Random random(String what) {
    long seed = Long.getLong("evergreen.fuzz.seed", ThreadLocalRandom.current().nextLong());
    System.out.println(what + ": seed " + seed);
    return new Random(seed);
  }

  private static byte[] bytes(Message message) {
    var out = MessageCodec.write(message);
    return Arrays.copyOfRange(out.bytes(), MessageCodec.HEAD, out.size());
  }

  private @Nullable Message read(byte[] bytes) throws MalformedMessageException {
    return reader.read(bytes, 0, bytes.length);
  }

  private void assertMalformed(byte[] bytes) {
    assertThrows(MalformedMessageException.class, () -> read(bytes));
  }

  @Test
  void everyMessageIsReadAsItWasWritten() throws Exception {
    var random = random("round trips");
    var messages = new Messages(random);
    for (int i = 0; i < MESSAGES; i++) {
      var message = messages.ofType(i % Messages.TYPES);
      var bytes = bytes(message);
      // Anywhere in a larger buffer, as in that of a connection.
      int before = random.nextInt(100);
      var buffer = new byte[before + bytes.length + random.nextInt(100)];
      random.nextBytes(buffer);
      System.arraycopy(bytes, 0, buffer, before, bytes.length);
      var back = reader.read(buffer, before, bytes.length);
      assertNotNull(back);
      assertTrue(Messages.same(message, back), () -> message + " became " + back);
    }
  }

  @Test
  void everyTextSurvivesAlsoHalvesOfSurrogatePairs() throws Exception {
    var messages = new Messages(random("texts"));
    for (int i = 0; i < MESSAGES; i++) {
      var text = messages.text();
      var out = new ByteWriter(1);
      out.text(text);
      var in = new ByteReader();
      assertEquals(text, in.reset(out.bytes(), 0, out.size()).text());
      assertEquals(text, in.reset(out.bytes(), 0, out.size()).name());
      assertEquals(text, in.reset(out.bytes(), 0, out.size()).name(), "when it is known");
      assertEquals(0, in.remaining());
    }
  }

  @Test
  void textThatIsNoUtf8IsMalformed() {
    for (var bytes :
        new int[][] {
          {0x80},
          {0xC3},
          {0xC3, 0x41},
          {0xC0, 0x80},
          {0xC1, 0xBF},
          {0xE0, 0x80, 0x80},
          {0xE2, 0x82},
          {0xF0, 0x80, 0x80, 0x80},
          {0xF4, 0x90, 0x80, 0x80},
          {0xF8, 0x88, 0x80, 0x80, 0x80},
          {0xFF}
        }) {
      var out = new ByteWriter(8);
      out.varint(bytes.length);
      for (int b : bytes) {
        out.u8(b);
      }
      var in = new ByteReader().reset(out.bytes(), 0, out.size());
      assertThrows(MalformedMessageException.class, in::text, () -> Arrays.toString(bytes));
    }
  }

  @Test
  void structsOfEveryLengthAreFramedWhateverWasEstimated() throws Exception {
    for (int length : new int[] {0, 1, 63, 64, 126, 127, 128, 129, 16_383, 16_384, 3_000_000}) {
      for (int estimate : new int[] {0, 63, 64, length}) {
        var out = new ByteWriter(4);
        out.u8(9);
        int struct = out.begin(estimate);
        out.raw(new byte[length]);
        out.end(struct);
        out.u8(7);
        var in = new ByteReader().reset(out.bytes(), 0, out.size());
        assertEquals(9, in.u8());
        int outer = in.begin();
        assertEquals(length, in.remaining());
        in.end(outer);
        assertEquals(7, in.u8());
      }
    }
  }

  // Later versions

  @Test
  void fieldsThatLaterVersionsAppendToAMessageArePassedOver() throws Exception {
    var messages = new Messages(random("appended"));
    for (int type = 0; type < Messages.TYPES; type++) {
      var message = messages.ofType(type);
      var bytes = bytes(message);
      var longer = Arrays.copyOf(bytes, bytes.length + 17);
      Arrays.fill(longer, bytes.length, longer.length, (byte) 0xEE);
      var back = read(longer);
      assertNotNull(back);
      assertTrue(Messages.same(message, back));
    }
  }

  @Test
  void fieldsThatLaterVersionsAppendToAPartArePassedOver() throws Exception {
    var grain = new GrainId("Cell", "c");
    var call =
        new Message.Call(
            5,
            4,
            grain,
            "text()",
            new byte[2],
            true,
            List.of(
                new Message.Hop(grain, "a()", new byte[1], true, 7, 8),
                new Message.Hop(grain, "b()", new byte[1], false, 7, 8)),
            9,
            null);
    var bytes = bytes(call);
    // The first hop is a struct of 23 bytes, which begins after the count of hops; the age is last.
    int hop = bytes.length - 1 - 2 * 24;
    assertEquals(23, bytes[hop]);
    var longer = new byte[bytes.length + 3];
    System.arraycopy(bytes, 0, longer, 0, hop + 24);
    System.arraycopy(bytes, hop + 24, longer, hop + 27, 25);
    longer[hop] = 23 + 3;
    var back = read(longer);
    assertNotNull(back);
    assertTrue(Messages.same(call, back));
  }

  @Test
  void aMessageOfALaterTypeIsRecognisedAsSuch() throws Exception {
    assertNull(read(new byte[] {99, 1, 2, 3}));
    assertNull(read(new byte[] {9, 1, 2, 3}), "a type that is not used any more");
    assertNull(read(new byte[] {(byte) 0xFF}));
    assertMalformed(new byte[] {0});
    assertMalformed(new byte[0]);
  }

  @Test
  void anAnswerOfALaterKindIsAFailureAmongTheOthers() throws Exception {
    var key = new SummaryKey(new GrainId("Cell", "c"), "text()", new byte[0]);
    var version = new Message.Version(1, 2);
    var returned = new Message.Answer.Returned(new byte[] {77});
    var update = new Message.Update(key, 3, version, returned, 4, true, false, null);
    var bytes = bytes(new Message.Push(5, List.of(update, update, update)));
    int all = 0;
    for (int i = 0; i + 3 < bytes.length; i++) {
      // Kind, length of the struct, length of the value, value; of the second one.
      if (Arrays.equals(bytes, i, i + 4, new byte[] {1, 2, 1, 77}, 0, 4) && ++all == 2) {
        bytes[i] = 9;
      }
    }
    assertEquals(3, all);
    var push = assertInstanceOf(Message.Push.class, read(bytes));
    var later = assertInstanceOf(Message.Answer.Threw.class, push.updates().get(1).outcome());
    assertTrue(String.valueOf(later.failure().message()).contains("kind 9"));
    for (var each : push.updates()) {
      assertEquals(4, each.depth());
      assertTrue(each.inDoubt());
    }
    for (int other : new int[] {0, 2}) {
      assertInstanceOf(Message.Answer.Returned.class, push.updates().get(other).outcome());
    }
  }

  // Bad input

  @Test
  void everyTruncatedMessageIsMalformed() {
    var messages = new Messages(random("truncated"));
    for (int i = 0; i < 100; i++) {
      var message = messages.ofType(i % Messages.TYPES);
      var bytes = bytes(message);
      var older = appended(message).stream().map(more -> bytes.length - more).toList();
      int step = Math.max(1, bytes.length / 100);
      for (int length = 0; length < bytes.length; length += step) {
        if (!older.contains(length)) {
          assertMalformed(Arrays.copyOf(bytes, length));
        }
      }
    }
  }

  /** Else nothing would come of a request that just fits. */
  @Test
  void anAnswerThatNothingIsHereIsNotLongerThanItsRequest() {
    var keys =
        IntStream.range(0, 1_000)
            .mapToObj(i -> new SummaryKey(new GrainId("Cell", "c" + i), "reads", new byte[500]))
            .toList();
    var wishes = keys.stream().map(key -> new Message.Subscription(key, 1, null)).toList();
    var request = new Message.Subscribe(1, wishes, false);
    var answer = new Message.SubscribeAnswer(1, keys, List.of(), List.of(), keys.size());
    assertTrue(bytes(answer).length <= bytes(request).length);
  }

  /** How many bytes of a message older nodes did not write, the first ones first. */
  private static List<Integer> appended(Message message) {
    return switch (message) {
      case Message.Call call -> List.of(lengthOf(message, withoutAge(call)));
      case Message.Reply(var id, var answer, var time) ->
          List.of(lengthOf(message, new Message.Reply(id, answer, 0)));
      case Message.Subscribe subscribe -> List.of(1);
      case Message.SubscribeAnswer(var id, var notHere, var results, var owed, var nowhere) -> {
        List<SummaryKey> none = List.of();
        yield List.of(
            lengthOf(message, new Message.SubscribeAnswer(id, notHere, List.of(), none, 0)) + 2,
            lengthOf(message, new Message.SubscribeAnswer(id, notHere, results, none, 0)) + 1,
            lengthOf(message, new Message.SubscribeAnswer(id, notHere, results, owed, 0)));
      }
      default -> List.of(0);
    };
  }

  private static Message.Call withoutAge(Message.Call call) {
    return new Message.Call(
        call.id(),
        call.oldest(),
        call.target(),
        call.operation(),
        call.arguments(),
        call.readOnly(),
        call.chain(),
        0,
        call.trace());
  }

  /** Of a last field, of which a message without it has one byte. */
  private static int lengthOf(Message message, Message without) {
    return bytes(message).length - bytes(without).length + 1;
  }

  @Test
  void whatOlderNodesDoNotSayHasADefault() throws Exception {
    var messages = new Messages(random("older nodes"));
    for (int i = 0; i < 200; i++) {
      var message = messages.ofType(i % 4);
      var bytes = bytes(message);
      var older = read(Arrays.copyOf(bytes, bytes.length - appended(message).getFirst()));
      assertNotNull(older);
      var expected =
          switch (message) {
            case Message.Call call -> withoutAge(call);
            case Message.Reply(var id, var answer, var time) -> new Message.Reply(id, answer, 0);
            case Message.Subscribe(var request, var subscriptions, var waits) ->
                new Message.Subscribe(request, subscriptions, false);
            case Message.SubscribeAnswer answer ->
                new Message.SubscribeAnswer(
                    answer.request(), answer.notHere(), List.of(), List.of(), 0);
            default -> throw new IllegalStateException("no field was appended to " + message);
          };
      assertTrue(Messages.same(expected, older));
    }
  }

  /** Whatever comes, it is a message, of an unknown type, or malformed. */
  private void readAnything(byte[] bytes) {
    try {
      var message = read(bytes);
      if (message != null) {
        read(bytes(message));
      }
    } catch (MalformedMessageException e) {
      assertNotNull(e.getMessage());
    }
  }

  @Test
  void randomBytesAreMessagesOrMalformed() {
    var random = random("random bytes");
    for (int i = 0; i < 10 * MESSAGES; i++) {
      var bytes = new byte[random.nextInt(100)];
      random.nextBytes(bytes);
      if (bytes.length > 0) {
        bytes[0] = (byte) random.nextInt(12);
      }
      readAnything(bytes);
    }
  }

  @Test
  void mutatedMessagesAreMessagesOrMalformed() {
    var random = random("mutated");
    var messages = new Messages(random);
    for (int i = 0; i < MESSAGES; i++) {
      var bytes = bytes(messages.next());
      for (int flips = random.nextInt(5); flips >= 0; flips--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      }
      readAnything(bytes);
    }
  }

  @Test
  void lengthsThatTheBytesCannotHoldAllocateNothing() {
    for (long length : new long[] {100, 1 << 20, Integer.MAX_VALUE, 1L << 40, Long.MIN_VALUE, -1}) {
      for (int type : new int[] {3, 4, 5, 6, 8, 14, 15, 16}) {
        var out = new ByteWriter(32);
        out.u8(type);
        if (type != 5 && type != 8 && type != 16) {
          out.varint(1);
        }
        out.varint(length);
        out.fixed8(0);
        assertMalformed(Arrays.copyOf(out.bytes(), out.size()));
      }
    }
  }

  @Test
  void moreItemsThanAreAllowedAreRefusedWhenWrittenAndWhenRead() {
    var empty = new SummaryKey(new GrainId("", ""), "", new byte[0]);
    var keys = Collections.nCopies(MessageCodec.MAX_ITEMS + 1, empty);
    var thrown =
        assertThrows(
            IllegalArgumentException.class, () -> MessageCodec.write(new Message.Moved(keys)));
    assertTrue(String.valueOf(thrown.getMessage()).contains("1048576"), thrown::toString);
    var out = new ByteWriter(16);
    out.u8(8);
    out.varint(keys.size());
    out.raw(new byte[4 * keys.size()]);
    assertMalformed(Arrays.copyOf(out.bytes(), out.size()));
  }

  @Test
  void anEndlessChainOfCausesIsCutWhenWritten() throws Exception {
    Failure failure = new Failure("first", null, null, List.of());
    for (int i = 0; i < 100_000; i++) {
      failure = new Failure("later", "m", failure, List.of());
    }
    var reply = new Message.Reply(1, new Message.Answer.Threw(failure), 2);
    if (read(bytes(reply))
        instanceof Message.Reply(var id, Message.Answer.Threw(Failure back), var time)) {
      int causes = 0;
      for (var f = back; f != null; f = f.cause()) {
        causes++;
      }
      assertEquals(MessageCodec.MAX_CAUSES, causes);
    } else {
      throw new AssertionError("it is no failure any more");
    }
  }

  @Test
  void aNameThatRepeatsIsTheSameObject() throws Exception {
    var call =
        bytes(
            new Message.Call(
                1, 1, new GrainId("Cell", "c"), "text()", new byte[0], true, List.of(), 0, null));
    var first = (Message.Call) read(call);
    var second = (Message.Call) read(call);
    assertNotNull(first);
    assertNotNull(second);
    assertSame(first.operation(), second.operation());
    assertSame(first.target().type(), second.target().type());
  }
}

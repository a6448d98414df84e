package dev.evergreen.cluster.links;

import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Answer;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.TraceContext;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Messages and their bytes, as {@code docs/protocol.md} describes them. A message begins with its
 * type; it, and each of its parts that has a length before it, may get further fields at its end,
 * which older versions pass over. Writing is for any thread, a reader is for one.
 */
final class MessageCodec {

  /** What is left free before a message, for the head of its frame. */
  static final int HEAD = 5;

  /** As many causes as are written and read; the core keeps fewer. */
  static final int MAX_CAUSES = 64;

  /** As many items as all lists of a message may have together: they take more room than bytes. */
  static final int MAX_ITEMS = 1 << 20;

  private static final int FLAG_1 = 1;
  private static final int FLAG_2 = 2;
  private static final int FLAG_TRACED = 4;

  /** In the order of their numbers on the wire. */
  private MessageCodec() {}

  // Writing

  /** A message, after {@link #HEAD} free bytes. */
  static ByteWriter write(Message message) {
    var out = new ByteWriter(HEAD + 160 + estimate(message));
    for (int i = 0; i < HEAD; i++) {
      out.u8(0);
    }
    switch (message) {
      case Message.Call call -> call(out, call);
      case Message.Reply(var id, var answer, var time) -> {
        type(out, 2);
        out.varint(id);
        answer(out, answer);
        out.varint(time);
      }
      case Message.Subscribe(var request, var subscriptions, var waits) -> {
        type(out, 3);
        out.varint(request);
        list(out, subscriptions, MessageCodec::subscription);
        out.u8(waits ? FLAG_1 : 0);
      }
      case Message.SubscribeAnswer(
              var request,
              var notHere,
              var results,
              var owed,
              var nowhere) -> {
        type(out, 4);
        out.varint(request);
        list(out, notHere, MessageCodec::key);
        list(out, results, MessageCodec::update);
        list(out, owed, MessageCodec::key);
        out.varint(nowhere);
      }
      case Message.Unsubscribe(var subscriptions) -> {
        type(out, 5);
        list(out, subscriptions, MessageCodec::subscription);
      }
      case Message.Push(var batch, var updates) -> {
        type(out, 6);
        out.varint(batch);
        list(out, updates, MessageCodec::update);
      }
      case Message.PushAck(var batch) -> {
        type(out, 7);
        out.varint(batch);
      }
      case Message.Moved(var keys) -> {
        type(out, 8);
        list(out, keys, MessageCodec::key);
      }
      case Message.Probe(var id, var keys) -> {
        type(out, 14);
        out.varint(id);
        list(out, keys, MessageCodec::key);
      }
      case Message.ProbeAnswer(var id, var readers) -> {
        type(out, 15);
        out.varint(id);
        list(out, readers, MessageCodec::readers);
      }
      case Message.Inspect(var id) -> {
        type(out, 11);
        out.varint(id);
      }
      case Message.Inspected(var id, var report) -> {
        type(out, 12);
        out.varint(id);
        out.blob(report);
      }
      case Message.Hasten(var id, var began) -> {
        type(out, 13);
        out.varint(id);
        out.varint(began);
      }
      case Message.Withdraw(var id) -> {
        type(out, 19);
        out.varint(id);
      }
      case Message.Unreachable(var keys) -> {
        type(out, 16);
        list(out, keys, MessageCodec::key);
      }
      case Message.Settle(var fence, var key, var patience) -> {
        type(out, 17);
        fence(out, fence);
        key(out, key);
        out.varint(patience);
      }
      case Message.Settled(var fence, var key, var version) -> {
        type(out, 18);
        fence(out, fence);
        key(out, key);
        version(out, version);
      }
    }
    return out;
  }

  /** Of the bytes that are large where any are, so that they are seldom copied. */
  private static int estimate(Message message) {
    long estimate =
        switch (message) {
          case Message.Call call -> call.arguments().length;
          case Message.Reply reply -> size(reply.answer());
          case Message.Inspected inspected -> inspected.report().length;
          case Message.Push push -> size(push.updates());
          case Message.SubscribeAnswer answer -> size(answer.results());
          default -> 0;
        };
    return (int) Math.min(estimate, Integer.MAX_VALUE / 2);
  }

  private static long size(List<Message.Update> updates) {
    long sum = 0;
    for (var update : updates) {
      sum += 100L + update.key().arguments().length + size(update.outcome());
    }
    return sum;
  }

  private static int size(Answer answer) {
    return answer instanceof Answer.Returned(var value) ? value.length : 0;
  }

  private static void type(ByteWriter out, int type) {
    out.u8(type);
  }

  /** Writes one item of a list. */
  private interface ItemWriter<T> {
    void write(ByteWriter out, T item);
  }

  private static <T> void list(ByteWriter out, List<T> items, ItemWriter<T> writer) {
    long all = out.addItems(items.size());
    if (all > MAX_ITEMS) {
      throw new IllegalArgumentException(
          "a message has at least " + all + " items, but at most " + MAX_ITEMS + " are possible");
    }
    out.varint(items.size());
    for (var item : items) {
      writer.write(out, item);
    }
  }

  private static void call(ByteWriter out, Message.Call call) {
    type(out, 1);
    out.varint(call.id());
    out.varint(call.oldest());
    out.u8((call.readOnly() ? FLAG_1 : 0) | traced(call.trace()));
    grain(out, call.target());
    out.text(call.operation());
    out.blob(call.arguments());
    list(out, call.chain(), MessageCodec::hop);
    trace(out, call.trace());
    out.varint(call.began());
  }

  private static int traced(@Nullable TraceContext trace) {
    return trace != null ? FLAG_TRACED : 0;
  }

  /** Nothing where there is no trace: the flag says so. */
  private static void trace(ByteWriter out, @Nullable TraceContext trace) {
    if (trace != null) {
      out.text(trace.parent());
      out.text(trace.state());
    }
  }

  private static void hop(ByteWriter out, Message.Hop hop) {
    int struct = out.begin(hop.grain().key().length() + hop.operation().length());
    out.u8(hop.readOnly() ? FLAG_1 : 0);
    grain(out, hop.grain());
    out.text(hop.operation());
    out.blob(hop.call());
    out.fixed8(hop.epoch());
    out.varint(hop.leftBy());
    out.end(struct);
  }

  private static void grain(ByteWriter out, GrainId grain) {
    out.text(grain.type());
    out.text(grain.key());
  }

  private static void key(ByteWriter out, SummaryKey key) {
    grain(out, key.grain());
    out.text(key.operation());
    out.blob(key.arguments());
  }

  static void node(ByteWriter out, NodeId node) {
    out.text(node.address());
    out.fixed8(node.incarnation());
  }

  private static void fence(ByteWriter out, Message.Fence fence) {
    node(out, fence.by());
    out.varint(fence.number());
  }

  private static void version(ByteWriter out, Message.Version version) {
    out.fixed8(version.epoch());
    out.varint(version.sequence());
  }

  private static void subscription(ByteWriter out, Message.Subscription subscription) {
    int struct = out.begin(64L + subscription.key().arguments().length);
    key(out, subscription.key());
    out.varint(subscription.generation());
    var have = subscription.have();
    out.u8(have != null ? FLAG_1 : 0);
    if (have != null) {
      version(out, have);
    }
    out.end(struct);
  }

  private static void update(ByteWriter out, Message.Update update) {
    int struct = out.begin(64L + update.key().arguments().length + size(update.outcome()));
    key(out, update.key());
    out.varint(update.generation());
    version(out, update.version());
    answer(out, update.outcome());
    out.zigzag(update.depth());
    out.u8(
        (update.inDoubt() ? FLAG_1 : 0)
            | (update.provisional() ? FLAG_2 : 0)
            | traced(update.trace()));
    trace(out, update.trace());
    out.end(struct);
  }

  private static void answer(ByteWriter out, Answer answer) {
    switch (answer) {
      case Answer.Returned(var value) -> {
        out.u8(1);
        int struct = out.begin(value.length);
        out.blob(value);
        out.end(struct);
      }
      case Answer.Threw(var failure) -> {
        out.u8(2);
        int struct = out.begin(Integer.MAX_VALUE);
        failures(out, failure);
        out.end(struct);
      }
      case Answer.NotStarted(var reason, var again) -> {
        out.u8(3);
        int struct = out.begin(reason.length());
        out.u8(again ? FLAG_1 : 0);
        out.text(reason);
        out.end(struct);
      }
    }
  }

  private static void failures(ByteWriter out, Failure first) {
    var chain = new ArrayList<Failure>();
    for (var f = first; f != null && chain.size() < MAX_CAUSES; f = f.cause()) {
      chain.add(f);
    }
    list(out, chain, MessageCodec::failure);
  }

  private static void failure(ByteWriter out, Failure failure) {
    int struct = out.begin(Integer.MAX_VALUE);
    out.text(failure.type());
    optional(out, failure.message());
    list(out, failure.trace(), MessageCodec::frame);
    out.end(struct);
  }

  private static void frame(ByteWriter out, Failure.Frame frame) {
    int struct = out.begin(frame.type().length() + frame.method().length());
    out.text(frame.type());
    out.text(frame.method());
    optional(out, frame.file());
    out.zigzag(frame.line());
    out.end(struct);
  }

  private static void optional(ByteWriter out, @Nullable String text) {
    out.u8(text != null ? FLAG_1 : 0);
    if (text != null) {
      out.text(text);
    }
  }

  private static void readers(ByteWriter out, Message.Readers readers) {
    int struct = out.begin(readers.summaries().isEmpty() ? 0 : Integer.MAX_VALUE);
    out.u8(readers.root() ? FLAG_1 : 0);
    list(out, readers.summaries(), MessageCodec::located);
    out.end(struct);
  }

  private static void located(ByteWriter out, Message.Located located) {
    int struct = out.begin(64L + located.key().arguments().length);
    node(out, located.node());
    key(out, located.key());
    out.end(struct);
  }

  // Reading

  /** Reads the messages of one connection. */
  static final class Reader {

    private final ByteReader in = new ByteReader();
    private int items;

    /**
     * The message that these bytes are; null if it is of a type that only later versions know.
     *
     * @throws MalformedMessageException if they are none
     */
    @Nullable Message read(byte[] bytes, int start, int length) throws MalformedMessageException {
      in.reset(bytes, start, length);
      items = 0;
      return switch (in.u8()) {
        case 1 -> call();
        case 2 -> new Message.Reply(in.varint(), answer(), later());
        case 3 -> subscribe();
        case 4 -> subscribeAnswer();
        case 5 -> new Message.Unsubscribe(list(this::subscription));
        case 6 -> new Message.Push(in.varint(), list(this::update));
        case 7 -> new Message.PushAck(in.varint());
        case 8 -> new Message.Moved(list(this::key));
        case 11 -> new Message.Inspect(in.varint());
        case 12 -> new Message.Inspected(in.varint(), in.blob());
        case 13 -> new Message.Hasten(in.varint(), in.varint());
        case 14 -> new Message.Probe(in.varint(), list(this::key));
        case 15 -> new Message.ProbeAnswer(in.varint(), list(this::readers));
        case 16 -> new Message.Unreachable(list(this::key));
        case 17 -> new Message.Settle(fence(), key(), in.varint());
        case 18 -> new Message.Settled(fence(), key(), version());
        case 19 -> new Message.Withdraw(in.varint());
        case 0 -> throw ByteReader.malformed("there is no message of type 0");
        default -> null;
      };
    }

    /** Reads one item of a list. */
    private interface ItemReader<T> {
      T read() throws MalformedMessageException;
    }

    private <T> List<T> list(ItemReader<T> reader) throws MalformedMessageException {
      int count = in.count();
      items += count;
      if (items > MAX_ITEMS) {
        throw ByteReader.malformed("a message has more than " + MAX_ITEMS + " items");
      }
      if (count == 0) {
        return List.of();
      }
      var list = new ArrayList<T>(Math.min(count, 64));
      for (int i = 0; i < count; i++) {
        list.add(reader.read());
      }
      return Collections.unmodifiableList(list);
    }

    private Message.Call call() throws MalformedMessageException {
      long id = in.varint();
      long oldest = in.varint();
      int flags = in.u8();
      var target = grain();
      var operation = in.name();
      var arguments = in.blob();
      List<Message.Hop> chain = list(this::hop);
      var trace = trace(flags);
      return new Message.Call(
          id, oldest, target, operation, arguments, (flags & FLAG_1) != 0, chain, later(), trace);
    }

    /** A number that was added at the end of what older versions write. */
    private long later() throws MalformedMessageException {
      return in.remaining() > 0 ? in.varint() : 0;
    }

    private Message.Subscribe subscribe() throws MalformedMessageException {
      long request = in.varint();
      List<Message.Subscription> subscriptions = list(this::subscription);
      int flags = in.remaining() > 0 ? in.u8() : 0;
      return new Message.Subscribe(request, subscriptions, (flags & FLAG_1) != 0);
    }

    private Message.SubscribeAnswer subscribeAnswer() throws MalformedMessageException {
      long request = in.varint();
      List<SummaryKey> notHere = list(this::key);
      List<Message.Update> results = in.remaining() > 0 ? list(this::update) : List.of();
      List<SummaryKey> owed = in.remaining() > 0 ? list(this::key) : List.of();
      long nowhere = later();
      if (nowhere < 0 || nowhere > notHere.size()) {
        throw ByteReader.malformed(
            "%d of %d subscriptions are nowhere".formatted(nowhere, notHere.size()));
      }
      return new Message.SubscribeAnswer(request, notHere, results, owed, (int) nowhere);
    }

    private @Nullable TraceContext trace(int flags) throws MalformedMessageException {
      return (flags & FLAG_TRACED) != 0 ? new TraceContext(in.text(), in.text()) : null;
    }

    private Message.Hop hop() throws MalformedMessageException {
      int outer = in.begin();
      int flags = in.u8();
      var grain = grain();
      var operation = in.name();
      var call = in.blob();
      long epoch = in.remaining() > 0 ? in.fixed8() : 0;
      var hop = new Message.Hop(grain, operation, call, (flags & FLAG_1) != 0, epoch, later());
      in.end(outer);
      return hop;
    }

    private GrainId grain() throws MalformedMessageException {
      return new GrainId(in.name(), in.text());
    }

    private SummaryKey key() throws MalformedMessageException {
      return new SummaryKey(grain(), in.name(), in.blob());
    }

    private Message.Fence fence() throws MalformedMessageException {
      return new Message.Fence(node(in), in.varint());
    }

    private Message.Version version() throws MalformedMessageException {
      return new Message.Version(in.fixed8(), in.varint());
    }

    private Message.Subscription subscription() throws MalformedMessageException {
      int outer = in.begin();
      var key = key();
      long generation = in.varint();
      var have = (in.u8() & FLAG_1) != 0 ? version() : null;
      in.end(outer);
      return new Message.Subscription(key, generation, have);
    }

    private Message.Update update() throws MalformedMessageException {
      int outer = in.begin();
      var key = key();
      long generation = in.varint();
      var version = version();
      var outcome = answer();
      int depth = in.zigzag();
      int flags = in.u8();
      var trace = trace(flags);
      in.end(outer);
      return new Message.Update(
          key,
          generation,
          version,
          outcome,
          depth,
          (flags & FLAG_1) != 0,
          (flags & FLAG_2) != 0,
          trace);
    }

    private Answer answer() throws MalformedMessageException {
      int kind = in.u8();
      int outer = in.begin();
      Answer answer =
          switch (kind) {
            case 1 -> new Answer.Returned(in.blob());
            case 2 -> new Answer.Threw(failures());
            case 3 -> {
              int flags = in.u8();
              yield new Answer.NotStarted(in.text(), (flags & FLAG_1) != 0);
            }
            case 0 -> throw ByteReader.malformed("there is no answer of kind 0");
            default -> new Answer.Threw(laterKind(kind));
          };
      in.end(outer);
      return answer;
    }

    /** Whoever waits for this answer learns why there is none; others of a message are read. */
    private static Failure laterKind(int kind) {
      return new Failure(
          GrainFailureException.class.getName(),
          "the answer is of kind "
              + kind
              + ", which only later versions of Evergreen know; upgrade this node",
          null,
          List.of());
    }

    private Failure failures() throws MalformedMessageException {
      var chain = list(this::failure);
      if (chain.isEmpty() || chain.size() > MAX_CAUSES) {
        throw ByteReader.malformed("a failure has " + chain.size() + " causes");
      }
      var failure = chain.getLast();
      for (int i = chain.size() - 2; i >= 0; i--) {
        var outer = chain.get(i);
        failure = new Failure(outer.type(), outer.message(), failure, outer.trace());
      }
      return failure;
    }

    private Failure failure() throws MalformedMessageException {
      int outer = in.begin();
      var failure = new Failure(in.name(), optional(), null, list(this::frame));
      in.end(outer);
      return failure;
    }

    private Failure.Frame frame() throws MalformedMessageException {
      int outer = in.begin();
      var frame = new Failure.Frame(in.name(), in.name(), optional(), in.zigzag());
      in.end(outer);
      return frame;
    }

    private @Nullable String optional() throws MalformedMessageException {
      return (in.u8() & FLAG_1) != 0 ? in.text() : null;
    }

    private Message.Readers readers() throws MalformedMessageException {
      int outer = in.begin();
      int flags = in.u8();
      List<Message.Located> summaries = list(this::located);
      in.end(outer);
      return new Message.Readers(summaries, (flags & FLAG_1) != 0);
    }

    private Message.Located located() throws MalformedMessageException {
      int outer = in.begin();
      var located = new Message.Located(node(in), key());
      in.end(outer);
      return located;
    }
  }

  static NodeId node(ByteReader in) throws MalformedMessageException {
    return new NodeId(in.name(), in.fixed8());
  }
}

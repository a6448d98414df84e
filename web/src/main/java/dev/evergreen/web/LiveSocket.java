package dev.evergreen.web;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.core.spi.Carriers;
import dev.evergreen.core.spi.Share;
import dev.evergreen.live.Allowance;
import dev.evergreen.live.Present;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Gatherers;
import java.util.zip.DataFormatException;
import org.eclipse.jetty.util.Blocker;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.core.CloseStatus;
import org.eclipse.jetty.websocket.core.CoreSession;
import org.eclipse.jetty.websocket.core.Frame;
import org.eclipse.jetty.websocket.core.FrameHandler;
import org.eclipse.jetty.websocket.core.OpCode;
import org.eclipse.jetty.websocket.core.exception.CloseException;
import org.jspecify.annotations.Nullable;

/** One WebSocket, over which a browser watches many views. */
final class LiveSocket extends LiveConnection implements FrameHandler {
  /** Frames of a client are let through in bursts of ten seconds' worth. */
  private static final int BURST_SECONDS = 10;

  /** Networks carry more at a time: what comes in shorter pieces was cut up by the client. */
  private static final int PIECE_BYTES = 256;

  /** So many messages may come in one, however many views may be watched. */
  static final int MOST_IN_ONE = 1_000;

  private static final int PROTOCOL_ERROR = 1002;
  private static final int UNSUPPORTED_DATA = 1003;
  private static final int INVALID_DATA = 1007;
  private static final int POLICY_VIOLATION = 1008;
  private static final int TOO_BIG = 1009;

  private final boolean compressed;
  private final Hub hub;
  private final Set<LiveConnection> registry;

  /** By the client's id; guarded by itself. */
  private final Map<Long, Subscription> subscriptions = new HashMap<>(4);

  private volatile @Nullable CoreSession session;
  private volatile long lastHeardNanos = System.nanoTime();

  /** Touched by the reading thread only: the message so far, when it came in pieces. */
  private @Nullable ByteArrayOutputStream partial;

  private boolean partialIsCompressed;

  private final Allowance messages;

  /** Of what comes after the first piece of a message. */
  private final Allowance pieces;

  /** Of messages that come in one. */
  private final Allowance parts;

  /** Of those that say no more than that the client is alive, as often as it may be asked. */
  private final Allowance signsOfLife;

  LiveSocket(
      Caller caller,
      Object address,
      boolean compressed,
      WebSettings settings,
      Counters counters,
      Hub hub,
      Standings standings,
      Set<LiveConnection> registry) {
    super(caller, address, settings, counters, hub, standings);
    this.compressed = compressed;
    this.hub = hub;
    this.registry = registry;
    this.messages =
        new Allowance(settings.maxMessagesPerSecond(), BURST_SECONDS, System.nanoTime());
    int piecesOfOne = 1 + settings.maxMessageBytes() / PIECE_BYTES;
    this.pieces =
        new Allowance(
            (double) settings.maxMessagesPerSecond() * piecesOfOne,
            BURST_SECONDS,
            System.nanoTime());
    var oftenEnough = Math.max(settings.maxMessagesPerSecond(), settings.maxSubscriptions() / 2.0);
    this.parts = new Allowance(oftenEnough, BURST_SECONDS, System.nanoTime());
    var asksEvery = Math.min(SIGN_OF_LIFE_NANOS, settings.heartbeatEvery().toNanos());
    this.signsOfLife = new Allowance(1e9 / asksEvery, BURST_SECONDS, System.nanoTime());
  }

  @Override
  public void onOpen(CoreSession coreSession, Callback callback) {
    session = coreSession;
    registry.add(this);
    callback.succeeded();
    say(Messages.hello(settings));
    begin();
    coreSession.demand();
  }

  @Override
  public void onFrame(Frame frame, Callback callback) {
    lastHeardNanos = System.nanoTime();
    if (frame.getOpCode() == OpCode.CLOSE) {
      callback.succeeded();
      return;
    }
    boolean within = isWithinRate(frame);
    if (!isOver()) {
      if (within) {
        take(frame);
      } else {
        cut("flood", POLICY_VIOLATION, "Too many messages.");
      }
    }
    callback.succeeded();
    // When it is over, only the client's close frame is waited for, and not amid a flood.
    if (isOver() ? within : !pauseReading()) {
      readMore();
    }
  }

  /**
   * That it is not read meanwhile is no silence of the client's; and what it sends until then is no
   * flood, though it is read at once after that. Pieces are too many a second to be saved without
   * bound; what the network keeps of them is less than may come at once.
   */
  @Override
  void rest(long nanos) throws InterruptedException {
    if (nanos > 0) {
      long then = System.nanoTime();
      lastHeardNanos = then + nanos;
      super.rest(nanos);
      long now = System.nanoTime();
      List.of(messages, parts, signsOfLife).forEach(each -> each.keepAllSince(then, now));
    }
  }

  /**
   * So that a client cannot keep a processor busy. A message is one however many pieces it comes
   * in: the server below cuts it up as well, where the network does. Its other pieces are counted
   * apart, as many as a network makes of as many of the longest messages.
   */
  private boolean isWithinRate(Frame frame) {
    var counted = frame.getOpCode() == OpCode.CONTINUATION ? pieces : messages;
    return counted.use(1, System.nanoTime());
  }

  private void take(Frame frame) {
    switch (frame.getOpCode()) {
      case OpCode.PING -> {
        pong(payload(frame));
        awaitTurn(1);
      }
      case OpCode.PONG -> { // That it came is all there is to know.
        if (!isSignThatIsDue()) {
          awaitTurn(1);
        }
      }
      case OpCode.BINARY -> malformed(UNSUPPORTED_DATA, "Messages are text.");
      default -> takeText(frame);
    }
  }

  private void takeText(Frame frame) {
    var soFar = partial == null ? 0 : partial.size();
    if (soFar + frame.getPayloadLength() > settings.maxMessageBytes()) {
      tooLong();
      return;
    }
    var bytes = payload(frame);
    if (frame.getOpCode() == OpCode.TEXT) {
      partialIsCompressed = frame.isRsv1();
    } else if (frame.isRsv1()) {
      // RFC 7692 §6: a message is compressed or not, which its first frame says.
      malformed(PROTOCOL_ERROR, "Only a message's first frame says that it is compressed.");
      return;
    }
    if (frame.isFin() && partial == null) {
      inflateAndTake(bytes);
      return;
    }
    if (partial == null) {
      partial = new ByteArrayOutputStream(bytes.length);
    }
    partial.writeBytes(bytes);
    if (frame.isFin()) {
      bytes = partial.toByteArray();
      partial = null;
      inflateAndTake(bytes);
    }
  }

  private void inflateAndTake(byte[] bytes) {
    if (!partialIsCompressed) {
      takeMessage(bytes);
      return;
    }
    try {
      var inflated = SharedDeflate.inflate(bytes, settings.maxMessageBytes());
      if (inflated == null) {
        tooLong();
      } else {
        takeMessage(inflated);
      }
    } catch (DataFormatException e) {
      malformed(INVALID_DATA, "A message is not compressed as it says.");
    }
  }

  private void tooLong() {
    malformed(TOO_BIG, "A message is at most " + settings.maxMessageBytes() + " bytes long.");
  }

  private void takeMessage(byte[] bytes) {
    try {
      var text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
      var message = Json.tree(text.toString());
      if (message.isArray()) {
        takeAll(message);
      } else {
        takeInOneTurn(List.of(message), share());
      }
    } catch (CharacterCodingException e) {
      malformed(INVALID_DATA, "Messages are UTF-8.");
    } catch (WebException e) {
      malformed(POLICY_VIOLATION, String.valueOf(e.getMessage()));
    }
  }

  private static Share share() {
    return new Share(System::nanoTime, Carriers::letOthersRun);
  }

  /**
   * Several in one. A client may ask for all its views in one go, and for others soon after; what
   * is more than that is a flood, in however few frames. They have several turns if they are more
   * than anybody has done in one, since others may wait for theirs.
   */
  private void takeAll(JsonNode messages) {
    if (messages.size() > MOST_IN_ONE || !parts.use(messages.size(), System.nanoTime())) {
      cut("flood", POLICY_VIOLATION, "Too many messages in one.");
      return;
    }
    if (messages.isEmpty()) {
      awaitTurn(1);
    }
    var share = share();
    messages
        .valueStream()
        .gather(Gatherers.windowFixed(Hub.MOST_WORK_AT_A_TIME))
        .takeWhile(some -> !isOver())
        .forEachOrdered(some -> takeInOneTurn(some, share));
  }

  private void takeInOneTurn(List<JsonNode> messages, Share share) {
    int work = 0;
    for (var message : messages) {
      var type = typeOf(message);
      if (type.equals("ping")) {
        // Before it waits: who gets no answer soon takes the server to be gone.
        say(Messages.heartbeat());
      }
      work += type.equals("heartbeat") && isSignThatIsDue() ? 0 : 1;
    }
    if (work > 0) {
      awaitTurn(work);
    }
    for (var message : messages) {
      if (!isOver()) {
        act(typeOf(message), message);
        share.goesOn();
      }
    }
  }

  /**
   * Whether it comes no oftener than the client may be asked for it. Such a one has no turn: else a
   * client that waits would cause more to wait for by each answer, and never come to the end.
   */
  private boolean isSignThatIsDue() {
    return signsOfLife.use(1, System.nanoTime());
  }

  private static String typeOf(JsonNode message) {
    return message.path("type").asText("");
  }

  private void act(String type, JsonNode message) {
    if (type.equals("ping") || type.equals("heartbeat")) {
      return;
    }
    var id = message.path("id");
    if (!id.isIntegralNumber() || !id.canConvertToLong()) {
      malformed(POLICY_VIOLATION, "A message has a type and an integer id.");
      return;
    }
    switch (type) {
      case "subscribe" -> subscribe(id.longValue(), message);
      case "unsubscribe" -> unsubscribe(id.longValue());
      default ->
          malformed(POLICY_VIOLATION, "Types are subscribe, unsubscribe, ping and heartbeat.");
    }
  }

  private void subscribe(long id, JsonNode message) {
    boolean taken;
    synchronized (subscriptions) {
      taken = subscriptions.containsKey(id);
    }
    if (taken) {
      malformed(POLICY_VIOLATION, "Id " + id + " is in use.");
      return;
    }
    if (callerIsOver()) {
      return;
    }
    try {
      add(id, message);
    } catch (WebException e) {
      counters.refused(e.type());
      say(Messages.end(id, e));
    }
  }

  private void add(long id, JsonNode message) {
    synchronized (subscriptions) {
      hub.checkRoom(subscriptions.size());
    }
    var params = message.path("params");
    var have = message.path("have");
    var live =
        hub.acquire(
            hub.view(message.path("view").asText("")),
            caller,
            address,
            params.isMissingNode() ? Json.emptyObject() : params);
    var subscription = new Subscription(id, live, have.isTextual() ? have.textValue() : null);
    synchronized (subscriptions) {
      subscriptions.put(id, subscription);
    }
    follow(subscription);
  }

  private void unsubscribe(long id) {
    Subscription subscription;
    synchronized (subscriptions) {
      subscription = subscriptions.remove(id);
    }
    if (subscription != null) {
      drop(subscription);
    }
  }

  private void malformed(int code, String reason) {
    counters.malformed.increment();
    cut("malformed", code, reason);
  }

  /** Ends the connection for what the client did. */
  private void cut(String counted, int code, String reason) {
    counters.cut(counted);
    finish(code, reason);
  }

  private static byte[] payload(Frame frame) {
    var bytes = new byte[frame.getPayloadLength()];
    frame.getPayload().slice().get(bytes);
    return bytes;
  }

  @Override
  public void onError(Throwable cause, Callback callback) {
    if (cause instanceof CloseException) {
      counters.malformed.increment();
      counters.cut("malformed");
    }
    close();
    callback.succeeded();
  }

  @Override
  public void onClosed(CloseStatus closeStatus, Callback callback) {
    registry.remove(this);
    close();
    callback.succeeded();
  }

  long lastHeardNanos() {
    return lastHeardNanos;
  }

  private CoreSession session() throws IOException {
    var open = session;
    if (open == null || open.isClosed()) {
      throw new IOException("The WebSocket is closed.");
    }
    return open;
  }

  @Override
  void write(String message) throws IOException {
    send(new Frame(OpCode.TEXT, StandardCharsets.UTF_8.encode(message)));
  }

  @Override
  void write(String head, Present result) throws IOException {
    var start = new Frame(OpCode.TEXT, false, StandardCharsets.UTF_8.encode(head));
    var tail = Messages.messageTail(result);
    var deflated = compressed ? hub.compressed(result) : null;
    if (deflated != null) {
      start.setPayload(SharedDeflate.stored(start.getPayload()));
      start.setRsv1(true);
      tail = ByteBuffer.wrap(deflated);
    }
    // Two frames of one message: the head is this client's own, the tail is everybody's. Batched,
    // so that they leave in one system call.
    session().sendFrame(start, Callback.NOOP, true);
    send(new Frame(OpCode.CONTINUATION, tail));
  }

  private void send(Frame frame) throws IOException {
    try (var written = Blocker.callback()) {
      session().sendFrame(frame, written, false);
      written.block();
    }
  }

  @Override
  void writePong(ByteBuffer payload) throws IOException {
    send(new Frame(OpCode.PONG, payload));
  }

  @Override
  void finish(int code, String reason) {
    close();
    var open = session;
    if (open != null) {
      open.close(code, reason, Callback.NOOP);
    }
  }

  @Override
  void abort() {
    // The server below tells of the end of connections that it saw open; this is for all others.
    registry.remove(this);
    var open = session;
    if (open != null) {
      open.abort();
    }
  }

  /** To cut it would cut off the answer to the client's goodbye, too. */
  @Override
  boolean isEnding() {
    var open = session;
    return open != null && !open.isOutputOpen();
  }

  @Override
  void readMore() {
    var open = session;
    if (open != null) {
      open.demand();
    }
  }

  @Override
  void forget(Subscription subscription) {
    synchronized (subscriptions) {
      subscriptions.values().remove(subscription);
    }
  }

  @Override
  List<Subscription> subscriptions() {
    synchronized (subscriptions) {
      return List.copyOf(subscriptions.values());
    }
  }
}

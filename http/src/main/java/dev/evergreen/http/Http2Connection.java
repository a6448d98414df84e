package dev.evergreen.http;

import static dev.evergreen.http.Http2Output.ACK;
import static dev.evergreen.http.Http2Output.END_HEADERS;
import static dev.evergreen.http.Http2Output.END_STREAM;
import static dev.evergreen.http.Http2Output.FRAME_HEAD;
import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Signal;
import dev.evergreen.http.Http2Exception.Code;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;

/**
 * A connection by HTTP/2 (RFC 9113), on either side. A fiber reads frames, each stream has one that
 * works with it, and one sends what all of them {@linkplain Http2Output append}. Priorities are
 * ignored, nothing is pushed.
 *
 * <p>What breaks a rule ends its stream or the connection, as the RFC says. What is allowed but
 * only serves to keep the other side busy is bounded: resets, in a time; the bytes of a head, and
 * its frames; bytes of bodies that nobody has read; and frames that carry nothing.
 *
 * <p><b>Frames that carry nothing</b> of a message are PING, SETTINGS, PRIORITY, WINDOW_UPDATE,
 * GOAWAY, unknown ones, and DATA without a byte that is not the last. A peer may send {@value
 * #CONTROLS} of them at once, and {@value #CONTROLS_PER_SECOND} in each second. SETTINGS count as
 * one for each {@value #SETTINGS_PER_CONTROL} that they set. Nor does what comes for a stream that
 * this side has reset carry anything; but what was {@linkplain OnItsWay on its way} then, within
 * the stream's window, is not counted. Each other frame that carries something earns {@value
 * #CONTROLS_PER_CARRIED} more, and one of many bytes one for each 256, as those who send and
 * receive much have reason to ask how fast they are and to open windows: the head of a message that
 * comes, DATA that come, and DATA that are sent, but not if they are small only because the peer's
 * window is. Up to {@value #MOST_CONTROLS_EARNED} that were earned are kept.
 *
 * <p>A frame must be whole in the time of a head from its first byte on, as must a head with all
 * its frames. Only amid DATA the peer may pause, as often as it likes, for the time of a pause.
 */
abstract class Http2Connection {
  static final System.Logger LOG = System.getLogger(HttpServer.class.getName());

  static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII);
  private static final int MOST_FRAME = 16 << 10;
  private static final int MOST_WINDOW = Integer.MAX_VALUE;
  private static final int FIRST_WINDOW = 65_535;

  /** How many bytes of all streams that nobody has read the peer may send. */
  private static final int WINDOW = 1 << 20;

  private static final int CONTROLS = 500;
  private static final int CONTROLS_PER_SECOND = 50;
  private static final int CONTROLS_PER_CARRIED = 4;

  /** There are no more that have a meaning here. */
  private static final int SETTINGS_PER_CONTROL = 8;

  /** What was sent may lie on its way for long, and be answered at once when it arrives. */
  private static final int MOST_CONTROLS_EARNED = 1 << 14;

  private static final int PADDED = 8;
  private static final int PRIORITY = 0x20;

  final Fibers fibers;
  final HttpSettings settings;
  final Connection connection;
  final Http2Output out;
  final Input in;
  private final Http2Heads heads;

  // Of the reader.
  private final Allowance resets = new Allowance(200, 20);

  // Guarded by the lock.
  private final Allowance controls = new Allowance(CONTROLS, CONTROLS_PER_SECOND);
  final Map<Integer, Http2Stream> streams = new HashMap<>();

  /** The last streams that this side has reset, be they begun or not. */
  private final LinkedHashMap<Integer, OnItsWay> givenUp = new LinkedHashMap<>(0);

  /** Those that wait for room for a head. */
  private final ArrayList<Http2Stream> waiting = new ArrayList<>();

  /**
   * Those that wait for room for a part of a body, though their own windows are open. It is the
   * first one's turn.
   *
   * <p>Invariant: the fiber of each is in {@code Http2Stream.writeInTurn}. There it waits for
   * nothing but its own signal, as what it wrote elsewhere has left before, and leaves the turns in
   * any case. Whenever there is room the first one was woken. So nobody can hold up the others.
   */
  private final LinkedHashSet<Http2Stream> turns = new LinkedHashSet<>(0);

  /** When a part of a body was sent for the last time. */
  private long lastSent = System.nanoTime();

  private final Signal readerHasRoom;
  private long sendWindow = FIRST_WINDOW;
  private int peerWindow = FIRST_WINDOW;
  private long receiveWindow = WINDOW;
  private int consumed;

  Http2Connection(Fibers fibers, HttpSettings settings, Connection connection, Input in) {
    this.fibers = fibers;
    this.settings = settings;
    this.connection = connection;
    this.in = in;
    out = new Http2Output(connection, fibers, this::hasRoom);
    heads = new Http2Heads(settings);
    readerHasRoom = new Signal(fibers);
  }

  // What the two sides do differently.

  /** Waits for input; false if there is nothing more to do. */
  abstract boolean awaitInput() throws IOException;

  /** Whether a stream was begun, be it open or over. */
  abstract boolean wasBegun(int stream);

  /** A head has come, or trailers. */
  abstract void receive(int stream, Http2Heads.Block block, boolean ends) throws IOException;

  /** Of how many of the last streams that this side has reset it is known what may still come. */
  abstract int mostGivenUp();

  /** Whether this side has reset a stream, so that something may still come; under the lock. */
  boolean wasGivenUp(int stream) {
    return givenUp.containsKey(stream);
  }

  /** The peer will begin, or answer, no streams beyond one. */
  abstract void peerGoesAway(int last);

  /** The peer has reset a stream; under the lock. */
  void wasReset(Http2Stream stream, int code) {
    stream.fail(new IOException("the peer has reset the stream"));
  }

  /** Whether it is this side that begins such streams: then no more are reset than it wants. */
  boolean isOurs(int stream) {
    return false;
  }

  /** A stream's head is wrong: if that was to begin it, it has begun and is over. */
  void skip(int stream) {}

  /** The peer takes extended CONNECT (RFC 8441), or not; under the lock. */
  void peerConnects(boolean extended) {}

  /** The peer has told its settings; under the lock. */
  void peerIsSet() {}

  /** The same, without the lock. */
  void settingsCame() {}

  /** The peer limits how many streams it answers at a time; under the lock. */
  void peerTakes(long streams) {}

  /** Under the lock: sends the first frames. */
  final void sendSettings(int... namesAndValues) throws IOException {
    var frame = out.frame(Http2Output.SETTINGS, 0, 0, 3 * namesAndValues.length);
    for (int i = 0; i < namesAndValues.length; i += 2) {
      frame.putShort((short) namesAndValues[i]).putInt(namesAndValues[i + 1]);
    }
    out.frame(Http2Output.WINDOW_UPDATE, 0, WINDOW - FIRST_WINDOW);
  }

  /** Under the lock: how much of a body the peer takes at first. */
  final int peerWindow() {
    return peerWindow;
  }

  final void lock() {
    out.lock.lock();
  }

  final void unlock() {
    out.lock.unlock();
  }

  // What streams do, under the lock.

  static long contentLength(RequestHead head) {
    try {
      return Framing.contentLength(head.fields());
    } catch (MalformedMessageException e) {
      throw new IllegalStateException("it was checked before", e);
    }
  }

  /** The output has room again. */
  private void hasRoom() {
    if (!waiting.isEmpty() && !out.full()) {
      waiting.forEach(Http2Stream::wake);
      waiting.clear();
    }
    if (!out.isOpen()) {
      turns.forEach(Http2Stream::wakeWriter); // Nobody's turn comes any more.
    }
    wakeNext();
    readerHasRoom.raise();
  }

  private void wakeNext() {
    if (!turns.isEmpty() && sendWindow > 0 && !out.full()) {
      turns.getFirst().wakeWriter();
    }
  }

  /** Says whether the output is full; then the stream is woken when it is not. */
  boolean awaitsRoom(Http2Stream stream) {
    lock();
    try {
      boolean full = out.full();
      if (full) {
        waiting.add(stream);
      }
      return full;
    } finally {
      unlock();
    }
  }

  /** How much of a body can be sent now: nothing while others wait that came before. */
  final long room(Http2Stream stream, long window) {
    boolean itsTurn = turns.isEmpty() || turns.getFirst().equals(stream);
    return out.full() || !itsTurn ? 0 : Math.max(0, Math.min(window, sendWindow));
  }

  /** A stream that can send waits for its turn, behind the others; under the lock. */
  final void awaitTurn(Http2Stream stream) {
    turns.add(stream);
  }

  /** A stream waits for its turn no more; under the lock. */
  final void leaveTurns(Http2Stream stream) {
    if (turns.remove(stream)) {
      wakeNext();
    }
  }

  /** When a part of whatever body was sent for the last time; under the lock. */
  final long lastSent() {
    return lastSent;
  }

  /** A stream has sent a part of its body: it is the next one's turn. */
  final void sent(Http2Stream stream, int bytes) {
    sendWindow -= bytes;
    lastSent = System.nanoTime();
    leaveTurns(stream);
  }

  /** So much has come of bodies, be it read or not. */
  void arrived(int bytes) throws IOException {}

  /**
   * A frame has carried something of a message, in either direction.
   *
   * @param bytes of a body: some peers open both windows for each 512 bytes that they read
   */
  final void carried(int bytes) {
    controls.earn(Math.max(CONTROLS_PER_CARRIED, bytes >> 8), MOST_CONTROLS_EARNED);
  }

  /** So much of what has come takes no memory any more. */
  void consumed(int bytes) throws IOException {
    credit(bytes);
  }

  /** The peer may send so much more on the whole connection. */
  final void credit(int bytes) throws IOException {
    consumed += bytes;
    if (consumed >= WINDOW / 4) {
      out.frame(Http2Output.WINDOW_UPDATE, 0, consumed);
      receiveWindow += consumed;
      consumed = 0;
    }
  }

  void reset(Http2Stream stream, Code code) {
    reset(stream, code, new IOException("the stream was given up"));
  }

  void reset(Http2Stream stream, Code code, IOException why) {
    boolean wasOpen = streams.remove(stream.id()) != null;
    var rest = stream.onItsWay();
    stream.fail(why);
    if (wasOpen) {
      sendReset(stream.id(), code, rest);
    }
  }

  private void sendReset(int stream, Code code, OnItsWay rest) {
    givenUp.putIfAbsent(stream, rest);
    if (givenUp.size() > mostGivenUp()) {
      givenUp.pollFirstEntry();
    }
    if (!wasSentAtOnce(stream, code)) {
      // Who gives it up may also be allowed no wait for a buffer: its scope has been cancelled.
      var _ = fibers.spawn(() -> sendLater(stream, code));
    }
  }

  private boolean wasSentAtOnce(int stream, Code code) {
    try {
      boolean hasRoom = !Buffers.areShort() || out.hasRoomForControl();
      if (hasRoom) {
        out.frame(Http2Output.RST_STREAM, stream, code.number);
      }
      return hasRoom;
    } catch (IOException e) {
      return false;
    }
  }

  /** Waits without the lock, which all other streams need meanwhile. */
  private void sendLater(int stream, Code code) {
    try {
      var room = Buffers.borrowToWrite(connection);
      lock();
      try {
        out.provide(room);
        out.frame(Http2Output.RST_STREAM, stream, code.number);
      } finally {
        unlock();
      }
    } catch (IOException e) {
      connection.close(); // Else the peer would go on with it.
    }
  }

  /** One of a stream's directions has ended. */
  void ended(Http2Stream stream) {
    if (stream.isOver()) {
      streams.remove(stream.id());
    }
  }

  // What the connection's fiber does.

  interface Telling {
    void tell() throws IOException;
  }

  /**
   * Ends all streams, and sends what is left.
   *
   * @param telling tells the peer, under the lock
   */
  final void end(IOException why, Telling telling) throws IOException {
    try {
      lock();
      try {
        streams.values().forEach(stream -> stream.fail(why));
        streams.clear();
        telling.tell();
      } finally {
        unlock();
      }
    } finally {
      out.finish(); // Else who sends would wait for ever.
    }
  }

  final void readFrames() throws IOException {
    boolean first = true;
    while (awaitFrame()) {
      var buffer = in.buffer();
      int at = in.at();
      int length = (buffer.get(at) & 0xff) << 16 | (buffer.getShort(at + 1) & 0xffff);
      int type = buffer.get(at + 3) & 0xff;
      int flags = buffer.get(at + 4) & 0xff;
      int stream = buffer.getInt(at + 5) & Integer.MAX_VALUE;
      if (length > MOST_FRAME) {
        throw Http2Exception.ofConnection(Code.FRAME_SIZE_ERROR, "a frame of " + length);
      }
      if (first && (type != Http2Output.SETTINGS || (flags & ACK) != 0)) {
        throw Http2Exception.ofConnection(Code.PROTOCOL_ERROR, "the first frame sets nothing");
      }
      first = false;
      in.skip(FRAME_HEAD);
      if (type == Http2Output.DATA) {
        in.endHead();
      }
      awaitPayload(type, length);
      try {
        take(type, flags, stream, length);
      } catch (Http2Exception e) {
        failed(e);
      } finally {
        in.endHead();
      }
    }
  }

  private void awaitPayload(int type, int length) throws IOException {
    if (in.available() < length) {
      if (type != Http2Output.DATA) {
        in.beginHead(settings.head());
      }
      if (!in.await(length)) {
        throw new IncompleteMessageException("the peer has ended amid a frame");
      }
    }
  }

  /** Waits for the next frame's head; false if there is nothing more to do. */
  private boolean awaitFrame() throws IOException {
    while (in.available() < FRAME_HEAD) {
      if (!in.fill()) {
        if (in.ended()) {
          return false;
        }
        if (in.available() > 0) {
          in.beginHead(settings.head());
        }
        if (!awaitInput()) {
          return false;
        }
      }
    }
    awaitRoom();
    return true;
  }

  /** Who does not take our answers gets no new ones. */
  void awaitRoom() throws IOException {
    while (isFull()) {
      readerHasRoom.await();
    }
  }

  private boolean isFull() {
    lock();
    try {
      return out.full();
    } finally {
      unlock();
    }
  }

  private void failed(Http2Exception e) throws Http2Exception {
    if (e.stream() == 0) {
      throw e;
    }
    check(resets);
    lock();
    try {
      var stream = streams.get(e.stream());
      if (stream != null) {
        reset(stream, e.code(), new MalformedMessageException(String.valueOf(e.getMessage())));
      } else {
        boolean over = e.code() == Code.STREAM_CLOSED;
        var rest = over ? OnItsWay.nothing() : new OnItsWay(Http2Stream.WINDOW);
        sendReset(e.stream(), e.code(), rest);
      }
    } finally {
      unlock();
    }
  }

  private static void check(Allowance allowance) throws Http2Exception {
    require(allowance.take(), Code.ENHANCE_YOUR_CALM, "too much of that");
  }

  /** A frame that carries nothing has come. */
  private void checkControls() throws Http2Exception {
    checkControls(1);
  }

  /** What is as much work as some frames that carry nothing has come. */
  private void checkControls(int number) throws Http2Exception {
    lock();
    try {
      for (int i = 0; i < number; i++) {
        check(controls);
      }
    } finally {
      unlock();
    }
  }

  static void require(boolean good, Code code, String what) throws Http2Exception {
    if (!good) {
      throw Http2Exception.ofConnection(code, what);
    }
  }

  /** A frame is there. */
  private void take(int type, int flags, int id, int length) throws IOException {
    if (type == Http2Output.HEADERS) {
      headers(flags, id, length);
      return;
    }
    int end = in.at() + length;
    try {
      takeWhole(type, flags, id, length);
    } finally {
      in.skip(end - in.at());
    }
  }

  private void takeWhole(int type, int flags, int id, int length) throws IOException {
    switch (type) {
      case Http2Output.DATA -> data(flags, id, length);
      case 2 -> priority(id, length);
      case Http2Output.RST_STREAM -> rstStream(id, length);
      case Http2Output.SETTINGS -> settings(flags, id, length);
      case 5 -> throw Http2Exception.ofConnection(Code.PROTOCOL_ERROR, "nothing may be pushed");
      case Http2Output.PING -> ping(flags, id, length);
      case Http2Output.GO_AWAY -> {
        require(id == 0, Code.PROTOCOL_ERROR, "GOAWAY of a stream");
        require(length >= 8, Code.FRAME_SIZE_ERROR, "GOAWAY has eight bytes");
        checkControls();
        peerGoesAway(int32() & Integer.MAX_VALUE);
      }
      case Http2Output.WINDOW_UPDATE -> windowUpdate(id, length);
      case Http2Output.CONTINUATION ->
          throw Http2Exception.ofConnection(Code.PROTOCOL_ERROR, "it continues nothing");
      default -> checkControls();
    }
  }

  private int int32() throws IOException {
    return in.buffer().getInt(in.at());
  }

  /** How many bytes at the end of a payload are padding; the length of it is skipped. */
  private int padding(int flags, int length) throws IOException {
    if ((flags & PADDED) == 0) {
      return 0;
    }
    require(length >= 1, Code.FRAME_SIZE_ERROR, "no length of the padding");
    int padding = in.buffer().get(in.at()) & 0xff;
    require(padding < length, Code.PROTOCOL_ERROR, "more padding than there is");
    in.skip(1);
    return padding;
  }

  private void data(int flags, int id, int length) throws IOException {
    require(id != 0, Code.PROTOCOL_ERROR, "data of no stream");
    checkNotIdle(id);
    int end = in.at() + length;
    boolean ends = (flags & END_STREAM) != 0;
    int padding = padding(flags, length);
    if (in.at() + padding == end && !ends) {
      checkControls();
    }
    var bytes = new byte[end - in.at() - padding];
    in.buffer().get(in.at(), bytes);
    receive(id, ByteBuffer.wrap(bytes), length, ends);
  }

  private void receive(int id, ByteBuffer data, int flowed, boolean ends) throws IOException {
    lock();
    try {
      receiveWindow -= flowed;
      require(receiveWindow >= 0, Code.FLOW_CONTROL_ERROR, "more than the window");
      arrived(flowed);
      var stream = streams.get(id);
      if (stream == null) {
        receiveBehindTheEnd(id, flowed, ends);
        consumed(flowed);
        return;
      }
      stream.receive(data, flowed, ends);
      ended(stream);
    } catch (Http2Exception e) {
      consumed(flowed);
      throw e;
    } finally {
      unlock();
    }
  }

  /** Under the lock: data have come for a stream that there is no more. */
  private void receiveBehindTheEnd(int id, int flowed, boolean ends) throws Http2Exception {
    checkGivenUp(id);
    if (flowed == 0 && !ends) {
      return; // It was counted, as it carries nothing in any case.
    }
    var rest = givenUp.get(id);
    if (rest == null || !rest.takeData(flowed, ends)) {
      check(controls);
    }
  }

  /** Under the lock: a head has come, or trailers, for a stream that there is no more. */
  final void receiveBehindTheEnd(int id, boolean ends) throws Http2Exception {
    checkGivenUp(id);
    var rest = givenUp.get(id);
    if (rest == null || !rest.takeHead(ends)) {
      check(controls);
    }
  }

  private void checkGivenUp(int id) throws Http2Exception {
    if (!wasGivenUp(id)) {
      throw Http2Exception.ofStream(id, Code.STREAM_CLOSED, "something behind the end");
    }
  }

  private void checkNotIdle(int id) throws Http2Exception {
    require(wasBegun(id), Code.PROTOCOL_ERROR, "a stream that was not begun");
  }

  private void headers(int flags, int id, int length) throws IOException {
    require((id & 1) == 1, Code.PROTOCOL_ERROR, "clients begin streams, of odd numbers");
    int end = in.at() + length;
    int padding = padding(flags, length);
    int dependency = 0;
    if ((flags & PRIORITY) != 0) {
      require(end - in.at() - padding >= 5, Code.FRAME_SIZE_ERROR, "no priority");
      dependency = int32() & Integer.MAX_VALUE;
      in.skip(5);
    }
    var block = new byte[end - in.at() - padding];
    in.buffer().get(in.at(), block);
    in.skip(end - in.at());
    if ((flags & END_HEADERS) == 0) {
      block = continued(block, id);
    }
    try {
      // In any case, as it changes the table of fields.
      var read = heads.read(id, block, block.length);
      if (dependency == id) {
        throw Http2Exception.ofStream(id, Code.PROTOCOL_ERROR, "a stream that depends on itself");
      }
      receive(id, read, (flags & END_STREAM) != 0);
    } catch (Http2Exception e) {
      if (e.stream() != 0) {
        skip(id); // Else what is on its way behind it would be of no stream.
      }
      throw e;
    }
  }

  /** Reads on to the end of a block of fields. */
  private byte[] continued(byte[] begun, int id) throws IOException {
    var block = begun;
    int frames = 0;
    in.beginHead(settings.head());
    while (true) {
      if (!in.await(FRAME_HEAD)) {
        throw new IncompleteMessageException("the peer has ended amid a head");
      }
      int at = in.at();
      int length = (in.buffer().get(at) & 0xff) << 16 | (in.buffer().getShort(at + 1) & 0xffff);
      boolean ours =
          in.buffer().get(at + 3) == Http2Output.CONTINUATION
              && (in.buffer().getInt(at + 5) & Integer.MAX_VALUE) == id;
      boolean last = (in.buffer().get(at + 4) & END_HEADERS) != 0;
      require(ours, Code.PROTOCOL_ERROR, "a head is not continued");
      require(length <= MOST_FRAME, Code.FRAME_SIZE_ERROR, "a frame of " + length);
      require(
          ++frames <= 16 && block.length + length <= 2 * settings.fieldBytes(),
          Code.ENHANCE_YOUR_CALM,
          "a head without an end");
      in.skip(FRAME_HEAD);
      awaitPayload(Http2Output.CONTINUATION, length);
      int before = block.length;
      block = Arrays.copyOf(block, before + length);
      in.buffer().get(in.at(), block, before, length);
      in.skip(length);
      if (last) {
        return block;
      }
    }
  }

  final void receiveTrailers(Http2Stream stream, Http2Heads.Block block, boolean ends)
      throws IOException {
    if (stream.peerEnded()) {
      throw Http2Exception.ofStream(stream.id(), Code.STREAM_CLOSED, "fields behind the end");
    }
    if (!ends || block.tooLarge()) {
      throw Http2Exception.ofStream(stream.id(), Code.PROTOCOL_ERROR, "fields amid a body");
    }
    stream.receiveTrailers(block.trailers());
    ended(stream);
  }

  private void priority(int id, int length) throws IOException {
    require(id != 0, Code.PROTOCOL_ERROR, "a priority of no stream");
    checkControls();
    // RFC 9113 §6.4: no stream can be reset before it was begun.
    int wrong = wasBegun(id) ? id : 0;
    if (length != 5) {
      throw Http2Exception.ofStream(wrong, Code.FRAME_SIZE_ERROR, "no priority");
    }
    if ((int32() & Integer.MAX_VALUE) == id) {
      throw Http2Exception.ofStream(wrong, Code.PROTOCOL_ERROR, "a stream that depends on itself");
    }
  }

  private void rstStream(int id, int length) throws IOException {
    require(length == 4, Code.FRAME_SIZE_ERROR, "no code");
    checkNotIdle(id);
    int code = int32();
    lock();
    try {
      var stream = streams.remove(id);
      if (stream == null || !isOurs(id)) {
        check(resets);
      }
      if (stream != null) {
        wasReset(stream, code);
      }
    } finally {
      unlock();
    }
  }

  private void settings(int flags, int id, int length) throws IOException {
    require(id == 0, Code.PROTOCOL_ERROR, "settings of a stream");
    checkControls(1 + length / (6 * SETTINGS_PER_CONTROL));
    if ((flags & ACK) != 0) {
      require(length == 0, Code.FRAME_SIZE_ERROR, "an answer to settings sets nothing");
      return;
    }
    require(length % 6 == 0, Code.FRAME_SIZE_ERROR, "settings are six bytes each");
    lock();
    try {
      int windowBefore = peerWindow;
      for (int i = 0; i < length; i += 6) {
        set(
            in.buffer().getShort(in.at() + i) & 0xffff,
            in.buffer().getInt(in.at() + i + 2) & 0xffff_ffffL);
      }
      addToAllWindows((long) peerWindow - windowBefore);
      peerIsSet();
      if (out.isOpen()) {
        var _ = out.frame(Http2Output.SETTINGS, ACK, 0, 0);
      }
    } finally {
      unlock();
    }
    settingsCame();
  }

  /** Once for all settings of a frame, as there may be many streams. */
  private void addToAllWindows(long more) throws Http2Exception {
    if (more != 0) {
      boolean good = true;
      for (var stream : streams.values()) {
        good &= stream.addWindow(more);
      }
      require(good, Code.FLOW_CONTROL_ERROR, "a window too large");
    }
  }

  private void set(int name, long value) throws IOException {
    switch (name) {
      case 1 -> out.peerTable(value);
      case 2 ->
          // RFC 9113 §6.5.2: only a client takes pushes.
          require(value <= (isOurs(1) ? 0 : 1), Code.PROTOCOL_ERROR, "push cannot be so");
      case 3 -> peerTakes(value);
      case 4 -> {
        require(value <= MOST_WINDOW, Code.FLOW_CONTROL_ERROR, "a window too large");
        peerWindow = (int) value;
      }
      case 8 -> {
        require(value <= 1, Code.PROTOCOL_ERROR, "extended CONNECT is on or off");
        peerConnects(value == 1);
      }
      case 5 ->
          require(
              value >= MOST_FRAME && value < 1 << 24, Code.PROTOCOL_ERROR, "no such frame size");
      default -> {}
    }
  }

  private void ping(int flags, int id, int length) throws IOException {
    require(id == 0, Code.PROTOCOL_ERROR, "a ping of a stream");
    require(length == 8, Code.FRAME_SIZE_ERROR, "a ping has eight bytes");
    checkControls();
    if ((flags & ACK) == 0) {
      lock();
      try {
        if (out.isOpen()) {
          out.frame(Http2Output.PING, ACK, 0, 8).putLong(in.buffer().getLong(in.at()));
        }
      } finally {
        unlock();
      }
    }
  }

  private void windowUpdate(int id, int length) throws IOException {
    require(length == 4, Code.FRAME_SIZE_ERROR, "no increment");
    if (id != 0) {
      checkNotIdle(id);
    }
    long more = int32() & Integer.MAX_VALUE;
    lock();
    try {
      check(controls);
      if (id == 0) {
        require(more > 0, Code.PROTOCOL_ERROR, "an increment of nothing");
        sendWindow += more;
        require(sendWindow <= MOST_WINDOW, Code.FLOW_CONTROL_ERROR, "a window too large");
        hasRoom();
        return;
      }
      var stream = streams.get(id);
      if (more == 0) {
        throw Http2Exception.ofStream(id, Code.PROTOCOL_ERROR, "an increment of nothing");
      }
      if (stream != null && !stream.addWindow(more)) {
        throw Http2Exception.ofStream(id, Code.FLOW_CONTROL_ERROR, "a window too large");
      }
    } finally {
      unlock();
    }
  }
}

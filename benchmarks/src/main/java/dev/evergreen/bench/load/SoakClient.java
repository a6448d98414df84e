package dev.evergreen.bench.load;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * A client that does what clients do, with keys of its own: sets values that grow and shrink, reads
 * and checks them, deletes, touches, counts, by all protocols, and comes and goes. Used by one
 * thread.
 */
final class SoakClient implements AutoCloseable {

  /** Which requests it makes. */
  enum Kind {
    TEXT,
    META,
    BINARY
  }

  private static final int KEYS = 400;
  private static final int ABSENT = -1;
  private static final int LARGEST = 900_000;
  private static final int REQUESTS_PER_CONNECTION = 500;
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final byte[] TEXT = text();

  private final InetSocketAddress server;
  private final Kind kind;
  private final int number;
  private final SplittableRandom random;
  private final int[] lengths = new int[KEYS];
  private final int[] places = new int[KEYS];
  private long counter = ABSENT;
  private long requests;
  private Socket socket = new Socket();
  private DataInputStream input = new DataInputStream(InputStream.nullInputStream());

  SoakClient(InetSocketAddress server, Kind kind, int number) {
    this.server = server;
    this.kind = kind;
    this.number = number;
    random = new SplittableRandom(number);
    Arrays.fill(lengths, ABSENT);
  }

  private static byte[] text() {
    var random = new SplittableRandom(1);
    var text = new byte[2 * LARGEST];
    for (int i = 0; i < text.length; i++) {
      text[i] = (byte) random.nextInt('a', 'z' + 1);
    }
    return text;
  }

  long requests() {
    return requests;
  }

  /**
   * Makes one request and checks its reply.
   *
   * @throws WrongReplyException if that is wrong
   */
  void step() throws IOException {
    if (requests++ % REQUESTS_PER_CONNECTION == 0) {
      connect();
    }
    int key = random.nextInt(KEYS);
    if (kind == Kind.BINARY) {
      binary(key);
    } else {
      int choice = random.nextInt(20);
      if (choice < 9) {
        get(key);
      } else if (choice < 15) {
        set(key);
      } else if (choice < 17) {
        delete(key);
      } else if (choice < 18) {
        count();
      } else {
        touch(key);
      }
    }
  }

  private void connect() throws IOException {
    socket.close();
    socket = new Socket(server.getAddress(), server.getPort());
    socket.setTcpNoDelay(true);
    socket.setSoTimeout((int) PATIENCE.toMillis());
    input = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 14));
  }

  private String key(int key) {
    return "soak-" + number + "-" + key;
  }

  /** Small ones mostly, and some that are cut into fragments. */
  private int drawLength() {
    int choice = random.nextInt(100);
    return random.nextInt(choice < 88 ? 2_000 : choice < 99 ? 50_000 : LARGEST);
  }

  private void send(byte[]... parts) throws IOException {
    var all = new ByteArrayOutputStream();
    for (var part : parts) {
      all.write(part);
    }
    socket.getOutputStream().write(all.toByteArray());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(ISO_8859_1);
  }

  private byte[] value(int key) {
    return Arrays.copyOfRange(TEXT, places[key], places[key] + lengths[key]);
  }

  private String line() throws IOException {
    var line = new StringBuilder();
    for (int c = input.read(); c != '\n'; c = input.read()) {
      if (c < 0) {
        throw new EOFException("the server closed a connection after: " + line);
      }
      line.append((char) c);
    }
    return line.toString().stripTrailing();
  }

  private void expect(String actual, String... expected) throws WrongReplyException {
    if (!Arrays.asList(expected).contains(actual)) {
      throw new WrongReplyException(
          "client " + number + " read '" + actual + "' instead of " + Arrays.toString(expected));
    }
  }

  private void set(int key) throws IOException {
    draw(key);
    var head =
        kind == Kind.META
            ? "ms " + key(key) + " " + lengths[key] + "\r\n"
            : "set " + key(key) + " 0 0 " + lengths[key] + "\r\n";
    send(bytes(head), value(key), bytes("\r\n"));
    var reply = line();
    if (isRefused(reply)) {
      lengths[key] = ABSENT;
    } else {
      expect(reply, kind == Kind.META ? "HD" : "STORED");
    }
  }

  private void draw(int key) {
    lengths[key] = drawLength();
    places[key] = random.nextInt(LARGEST);
  }

  /** Others may hold so much that there is no room for a moment; that is said, and no mistake. */
  private static boolean isRefused(String reply) {
    return reply.startsWith("SERVER_ERROR out of memory");
  }

  private void get(int key) throws IOException {
    send(bytes(kind == Kind.META ? "mg " + key(key) + " v\r\n" : "get " + key(key) + "\r\n"));
    var reply = line();
    if (reply.equals("END") || reply.equals("EN")) {
      lengths[key] = ABSENT;
    } else if (!isRefused(reply)) {
      int length = lengths[key];
      expect(reply, kind == Kind.META ? "VA " + length : "VALUE " + key(key) + " 0 " + length);
      checkValue(key, length);
      expect(line(), "");
      if (kind == Kind.TEXT) {
        expect(line(), "END");
      }
    }
  }

  private void checkValue(int key, int length) throws IOException {
    var value = new byte[length];
    input.readFully(value);
    if (!Arrays.equals(value, value(key))) {
      throw new WrongReplyException("client " + number + " read another value for key " + key);
    }
  }

  private void delete(int key) throws IOException {
    send(bytes((kind == Kind.META ? "md " : "delete ") + key(key) + "\r\n"));
    boolean meta = kind == Kind.META;
    expect(line(), meta ? "HD" : "DELETED", meta ? "NF" : "NOT_FOUND");
    lengths[key] = ABSENT;
  }

  private void touch(int key) throws IOException {
    boolean meta = kind == Kind.META;
    send(bytes(meta ? "mg " + key(key) + " T0\r\n" : "touch " + key(key) + " 0\r\n"));
    expect(line(), meta ? "HD" : "TOUCHED", meta ? "EN" : "NOT_FOUND");
  }

  private void count() throws IOException {
    send(bytes("incr count-" + number + " 1\r\n"));
    var reply = line();
    if (reply.equals("NOT_FOUND")) {
      counter = 1;
      send(bytes("set count-" + number + " 0 0 1\r\n1\r\n"));
      var stored = line();
      if (!isRefused(stored)) {
        expect(stored, "STORED");
      }
    } else {
      expect(reply, String.valueOf(++counter));
    }
  }

  // By the binary protocol: set and get

  private void binary(int key) throws IOException {
    boolean sets = random.nextInt(5) < 2;
    if (sets) {
      draw(key);
    }
    var name = bytes(key(key));
    var value = sets ? value(key) : new byte[0];
    int extras = sets ? 8 : 0;
    var head = ByteBuffer.allocate(24 + extras).put((byte) 0x80).put((byte) (sets ? 1 : 0));
    head.putShort((short) name.length).put((byte) extras);
    head.putInt(8, extras + name.length + value.length);
    send(head.array(), name, value);
    var reply = new byte[24];
    input.readFully(reply);
    int status = ByteBuffer.wrap(reply).getShort(6);
    int length = ByteBuffer.wrap(reply).getInt(8);
    if (status == 0 && !sets) {
      input.readInt();
      expect("" + (length - 4), "" + lengths[key]);
      checkValue(key, length - 4);
    } else {
      input.skipNBytes(length);
      if (status != 0) {
        // Not found, or no room at the moment.
        expect("" + status, "1", "130", "133");
        lengths[key] = status == 133 ? lengths[key] : ABSENT;
      }
    }
  }

  /** Asks for much, takes little of it for a while, and goes. */
  void dawdle() throws IOException, InterruptedException {
    lengths[0] = LARGEST;
    requests++;
    connect();
    send(bytes("set " + key(0) + " 0 0 " + LARGEST + "\r\n"), value(0), bytes("\r\n"));
    line();
    send(bytes(("get " + key(0) + "\r\n").repeat(20)));
    for (int i = 0; i < 50; i++) {
      input.skipNBytes(1000);
      Thread.sleep(20);
    }
    // And leaves half a value behind.
    send(bytes("set " + key(1) + " 0 0 " + LARGEST + "\r\nhalf"));
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}

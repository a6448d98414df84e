package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a hit from memory allocates on the heap, by the JVM's own count for all threads: what {@code
 * docs/proxy.md} lists, and nothing else. The clients allocate nothing.
 */
@Tag("optimized")
@Timeout(120)
class HitAllocationTest {
  private static final int REQUESTS = 9600;

  /** In bytes; what was measured is less by less than a tenth. */
  private static final long MOST = 2000;

  private static final long MOST_BY_HTTP2 = 7000;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** Asks for something, once or several times at once, and takes all the answers. */
  private interface Client {
    void exchange() throws IOException;
  }

  private void check(long most, int atOnce, Client client) throws IOException {
    long least = Long.MAX_VALUE;
    // What is compiled well allocates less, and that may take its time.
    for (int run = 0; run < 50 && least > most; run++) {
      long before = threads.getTotalThreadAllocatedBytes();
      for (int i = 0; i < REQUESTS; i += atOnce) {
        client.exchange();
      }
      long each = (threads.getTotalThreadAllocatedBytes() - before) / REQUESTS;
      least = Math.min(least, each);
    }
    assertTrue(least <= most, least + " bytes");
  }

  private static Proxy start(ScriptedOrigin origin) throws IOException {
    var proxy =
        Proxy.start(
            ProxySettings.DEFAULT
                .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
                .withOrigins(List.of(origin.origin()))
                .withMode(Fibers.Mode.PROCESSORS)
                .withProcessors(1)
                .withStorage(StorageOptions.memory(16 << 20)));
    origin.then(200, "x".repeat(1000), "Cache-Control: max-age=3600", "ETag: \"1\"");
    return proxy;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 32})
  void aHitAllocatesNoMoreThanIsKnown(int atOnce) throws Exception {
    try (var origin = new ScriptedOrigin();
        var proxy = start(origin);
        var browser = new Browser(proxy.addresses().getFirst());
        var client = SocketChannel.open(proxy.addresses().getFirst())) {
      browser.get("/a/path");
      long length = atOnce * hitLength(browser);
      var requests = "GET /a/path HTTP/1.1\r\nHost: test\r\n\r\n".repeat(atOnce);
      var asked = direct(requests.getBytes(ISO_8859_1));
      var into = ByteBuffer.allocateDirect(1 << 16);
      check(
          MOST,
          atOnce,
          () -> {
            write(client, asked.rewind());
            for (long got = 0; got < length; ) {
              got += client.read(into.clear());
            }
          });
    }
  }

  /** The bytes of an answer from the cache; its Age and time to live stay as long as they are. */
  private static long hitLength(Browser browser) throws IOException {
    browser.ask("GET", "/a/path");
    long length = 0;
    String line;
    do {
      line = browser.line();
      length += line.length() + 2;
    } while (!line.isEmpty());
    return length + browser.read(1000).length();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 32})
  void norDoesOneByHttp2(int atOnce) throws Exception {
    try (var origin = new ScriptedOrigin();
        var proxy = start(origin);
        var browser = new Browser(proxy.addresses().getFirst());
        var client = SocketChannel.open(proxy.addresses().getFirst())) {
      browser.get("/a/path");
      check(MOST_BY_HTTP2, atOnce, new Http2Client(client, atOnce)::exchange);
    }
  }

  /** One that asks by the same bytes each time, but for the number of the stream. */
  private static final class Http2Client {
    private static final int HEAD = 9;
    private static final int WINDOW_UPDATE = 8;

    private final SocketChannel channel;
    private final int atOnce;
    private final int length;
    private final ByteBuffer asked;
    private final ByteBuffer into = ByteBuffer.allocateDirect(1 << 20);
    private int stream = 1;

    Http2Client(SocketChannel channel, int atOnce) throws IOException {
      this.channel = channel;
      this.atOnce = atOnce;
      var block =
          RawHttp2.block(
              ":method", "GET", ":scheme", "http", ":authority", "test", ":path", "/a/path");
      length = HEAD + block.length;
      asked = ByteBuffer.allocateDirect(atOnce * length);
      for (int i = 0; i < atOnce; i++) {
        head(asked, block.length, RawHttp2.HEADERS, RawHttp2.END_STREAM | RawHttp2.END_HEADERS, 0);
        asked.put(block);
      }
      var first =
          ByteBuffer.allocate(256).put("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(ISO_8859_1));
      head(first, 0, RawHttp2.SETTINGS, 0, 0);
      head(first, Integer.BYTES, WINDOW_UPDATE, 0, 0);
      first.putInt(Integer.MAX_VALUE - (1 << 16));
      write(channel, first.flip());
    }

    private static void head(ByteBuffer to, int length, int type, int flags, int stream) {
      to.putShort((short) (length >> 8)).put((byte) length);
      to.put((byte) type).put((byte) flags).putInt(stream);
    }

    void exchange() throws IOException {
      for (int i = 0; i < atOnce; i++) {
        asked.putInt(i * length + HEAD - Integer.BYTES, stream);
        stream += 2;
      }
      write(channel, asked.clear());
      for (int ended = 0; ended < atOnce; ) {
        channel.read(into);
        ended += takeFrames();
      }
    }

    /** Takes the frames that are whole, and says how many of them end a stream. */
    private int takeFrames() {
      int ended = 0;
      int at = 0;
      int end = into.position();
      while (end - at >= HEAD && end - at >= HEAD + payload(at)) {
        boolean data = into.get(at + 3) == RawHttp2.DATA;
        ended += data ? into.get(at + 4) & RawHttp2.END_STREAM : 0;
        at += HEAD + payload(at);
      }
      into.put(0, into, at, end - at).position(end - at);
      return ended;
    }

    private int payload(int at) {
      return (into.getShort(at) & 0xffff) << 8 | (into.get(at + 2) & 0xff);
    }
  }

  private static ByteBuffer direct(byte[] bytes) {
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  private static void write(SocketChannel to, ByteBuffer from) throws IOException {
    while (from.hasRemaining()) {
      to.write(from);
    }
  }
}

package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * How much of the heap a connection takes at rest. The client's side is in it, as it is in the same
 * process; the bounds are two and three times what is wanted, as the heap is not only ours.
 */
@Timeout(120)
class IdleConnectionsTest {
  private static final int NUMBER = 500;
  private static final String REQUEST = "GET /a HTTP/1.1\r\nHost: test\r\n\r\n";
  private static final String PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  /** SETTINGS, and a request for "/" of "test", by fields of HPACK's table. */
  private static final byte[] FRAMES = {
    0,
    0,
    0,
    4,
    0,
    0,
    0,
    0,
    0, //
    0,
    0,
    9,
    1,
    5,
    0,
    0,
    0,
    1,
    (byte) 0x82,
    (byte) 0x86,
    (byte) 0x84,
    0x41,
    4,
    't',
    'e',
    's',
    't'
  };

  private static long heap() {
    System.gc();
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private static SocketChannel connect(Proxy proxy, byte[] said) throws IOException {
    var channel = SocketChannel.open(proxy.addresses().getFirst());
    var out = ByteBuffer.wrap(said);
    while (out.hasRemaining()) {
      channel.write(out);
    }
    // What is answered is small, and comes at once.
    channel.read(ByteBuffer.allocate(4096));
    return channel;
  }

  private static long bytesEach(byte[] said) throws IOException {
    var open = new ArrayList<SocketChannel>();
    try (var origin = new ScriptedOrigin().then(200, "1", "Cache-Control: max-age=60");
        var proxy =
            Proxy.start(
                ProxySettings.DEFAULT
                    .withAddresses(
                        List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
                    .withOrigins(List.of(origin.origin()))
                    .withProcessors(1)
                    .withStorage(StorageOptions.memory(16 << 20)))) {
      for (int i = 0; i < NUMBER / 10; i++) {
        open.add(connect(proxy, said));
      }
      long before = heap();
      for (int i = 0; i < NUMBER; i++) {
        open.add(connect(proxy, said));
      }
      long bytes = (heap() - before) / NUMBER;
      assertTrue(proxy.fibers().connections().size() >= NUMBER, "they are at rest, not closed");
      return bytes;
    } finally {
      for (var each : open) {
        each.close();
      }
    }
  }

  @Test
  void aConnectionAtRestTakesLittleMemory() throws Exception {
    long bytes = bytesEach(REQUEST.getBytes(ISO_8859_1));
    assertTrue(bytes < 12 << 10, bytes + " bytes each");
  }

  @Test
  void soDoesOneOfHttp2() throws Exception {
    var said = ByteBuffer.allocate(PREFACE.length() + FRAMES.length);
    said.put(PREFACE.getBytes(ISO_8859_1)).put(FRAMES);
    long bytes = bytesEach(said.array());
    assertTrue(bytes < 48 << 10, bytes + " bytes each");
  }
}

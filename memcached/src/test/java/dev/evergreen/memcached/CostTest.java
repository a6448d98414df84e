package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What requests cost the server, in counts that do not depend on the machine. */
@Tag("optimized")
@Timeout(60)
class CostTest {
  private static final int LINES = 5_000;
  private static final int ROUNDS = 200;

  /** In bytes; a formatted line alone would make ten times that. */
  private static final long MOST_PER_ITEM = 100;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** Whoever sends lines that are no commands is to be no more of a burden than others. */
  @Test
  void aLineThatIsNoCommandMakesNoObjects() throws IOException {
    try (var server = TestServer.start(TestServer.settings(Mode.PROCESSORS).withProcessors(1));
        var client = server.connect()) {
      long perLine = Long.MAX_VALUE;
      // The compiler needs a while until it sees which objects are nobody's.
      for (int i = 0; i < ROUNDS && perLine >= 16; i++) {
        long before = allocated();
        assertEquals(LINES, linesAnswered(client, "no such command\r\n"));
        perLine = (allocated() - before) / LINES;
      }
      assertTrue(perLine < 16, "a line makes " + perLine + " bytes of objects");
    }
  }

  /** Whoever lists all items again and again, too: a collector that is always busy slows all. */
  @Test
  void aListedItemMakesFewObjects() throws IOException {
    try (var server = TestServer.start(TestServer.settings(Mode.PROCESSORS).withProcessors(1));
        var client = server.connect()) {
      for (int i = 0; i < LINES; i++) {
        client.send("set key%d 0 0 1 noreply\r\nx\r\n".formatted(i));
      }
      // A list must not be behind other requests.
      client.ask("version");
      long perItem = Long.MAX_VALUE;
      for (int i = 0; i < ROUNDS && perItem >= MOST_PER_ITEM; i++) {
        long before = allocated();
        client.send("lru_crawler metadump all\r\n");
        int lines = 0;
        while (!client.line().equals("END")) {
          lines++;
        }
        assertEquals(LINES, lines);
        perItem = (allocated() - before) / LINES;
      }
      assertTrue(perItem < MOST_PER_ITEM, "an item makes " + perItem + " bytes of objects");
    }
  }

  private static int linesAnswered(Client client, String line) throws IOException {
    client.send(line.repeat(LINES));
    return client.read(LINES * "ERROR\r\n".length()).split("\r\n", -1).length - 1;
  }

  /** By the server's processors, in bytes. */
  private long allocated() {
    var ids =
        Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
            .filter(thread -> thread != null && thread.getThreadName().startsWith("memcached"))
            .mapToLong(thread -> thread.getThreadId())
            .toArray();
    return Arrays.stream(threads.getThreadAllocatedBytes(ids)).sum();
  }
}

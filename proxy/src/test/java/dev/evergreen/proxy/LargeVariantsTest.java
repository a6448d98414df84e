package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.proxy.storage.StorageOptions;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A variant that is the answer to another one's request, and is read in pieces. */
@Timeout(60)
class LargeVariantsTest {
  @TempDir Path folder;

  @Test
  void aLargeVariantIsStoredForTheOtherRequestToo() throws Exception {
    var body = "a line of a large body\n".repeat(5_000);
    try (var origin =
            new ScriptedOrigin()
                .then(200, body, "Cache-Control: max-age=60", "Vary: X", "ETag: \"1\"")
                .then((_, wire) -> wire.send("HTTP/1.1 304 X\r\nETag: \"1\"\r\n\r\n"));
        var proxy = Proxy.start(settings(origin));
        var browser = new Browser(proxy.addresses().getFirst())) {
      for (var x : List.of("1", "2", "2")) {
        var answer = browser.get("/a", "X: " + x);
        assertEquals(200, answer.status());
        assertEquals(body, answer.body());
        awaitStored(browser, x);
      }
      assertEquals(2, origin.count(), "the third request was a hit");
    }
  }

  /** A client may have all of an answer before that is stored. */
  private static void awaitStored(Browser browser, String x) throws Exception {
    while (browser.get("/a", "X: " + x, "Cache-Control: only-if-cached").status() != 200) {
      Thread.onSpinWait();
    }
  }

  private ProxySettings settings(ScriptedOrigin origin) {
    return ProxySettings.DEFAULT
        .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
        .withOrigins(List.of(origin.origin()))
        .withStorage(
            StorageOptions.memory(1 << 20)
                .memoryObject(20_000)
                .onDisk(folder, 16 << 20)
                .segment(1 << 20))
        .withProcessors(1);
  }
}

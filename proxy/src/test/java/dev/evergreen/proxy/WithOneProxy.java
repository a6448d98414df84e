package dev.evergreen.proxy;

import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Tests of a proxy between browsers and an origin on real sockets; only its clock is ours. */
abstract class WithOneProxy {

  static final long START = 1_795_435_200_000L;

  final AtomicLong clock = new AtomicLong(START);
  final ScriptedOrigin origin = new ScriptedOrigin();
  private final List<Browser> browsers = new ArrayList<>();
  Proxy proxy;
  Browser browser;

  WithOneProxy() throws IOException {}

  @BeforeEach
  final void start() throws IOException {
    start(settings());
  }

  private void start(ProxySettings settings) throws IOException {
    proxy = Proxy.start(settings);
    browser = browser();
  }

  final ProxySettings settings() {
    return ProxySettings.DEFAULT
        .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
        .withOrigins(List.of(origin.origin()))
        .withProcessors(2)
        .withStorage(StorageOptions.memory(16 << 20))
        .withClock(clock::get);
  }

  /** Another client. */
  final Browser browser() throws IOException {
    var made = new Browser(proxy.addresses().getFirst());
    browsers.add(made);
    return made;
  }

  final void restart(ProxySettings settings) throws IOException {
    endProxy();
    start(settings);
  }

  @AfterEach
  final void end() throws IOException {
    origin.close();
    endProxy();
  }

  private void endProxy() throws IOException {
    for (var each : browsers) {
      each.close();
    }
    browsers.clear();
    proxy.close();
  }

  /** Asks, and waits until what came is stored. */
  final Browser.Answer ask(String path, String... fields) throws IOException {
    var answer = browser.get(path, fields);
    await(() -> proxy.fetches().underWay() == 0);
    return answer;
  }

  final void after(long seconds) {
    clock.addAndGet(1000 * seconds);
  }

  /** What is waited for. */
  interface Condition {
    boolean holds() throws IOException;
  }

  static void await(Condition condition) throws IOException {
    while (!condition.holds()) {
      Thread.onSpinWait();
    }
  }
}

package dev.evergreen.shims.redis;

import dev.evergreen.shims.Address;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.UnaryOperator;

/** A Redis with a shim before it. */
final class Shimmed implements AutoCloseable {
  final RedisServer redis;
  final RedisShim shim;

  private Shimmed(RedisServer redis, UnaryOperator<RedisShimSettings> more) throws IOException {
    this.redis = redis;
    shim = RedisShim.start(more.apply(settings("127.0.0.1:" + redis.port)));
  }

  static RedisShimSettings settings(String upstream) {
    return RedisShimSettings.of(Address.of("127.0.0.1:0"), Address.of(upstream)).withProcessors(2);
  }

  static Shimmed start(String... options) throws IOException {
    return start(settings -> settings, options);
  }

  static Shimmed start(UnaryOperator<RedisShimSettings> more, String... options)
      throws IOException {
    var redis = RedisServer.start(options);
    try {
      return new Shimmed(redis, more);
    } catch (IOException | RuntimeException e) {
      redis.close();
      throw e;
    }
  }

  /** Before one that is there already, and asks for a password. */
  static RedisShim before(RedisServer redis, String password) throws IOException {
    return RedisShim.start(settings("127.0.0.1:" + redis.port).withAccount("default", password));
  }

  static int port(RedisShim shim) {
    return ((InetSocketAddress) shim.address()).getPort();
  }

  int port() {
    return port(shim);
  }

  Talk client() throws IOException {
    return Talk.to(port());
  }

  /** The connections that Redis has, but for the one that asks and the shim's own. */
  int upstreams() {
    return (int) redis.ask("CLIENT", "LIST").lines().filter(line -> line.contains("id=")).count()
        - 2;
  }

  /** Returns when something has been sent to a Redis that does nothing at present. */
  void awaitSent() throws IOException {
    while (!isUnread()) {
      Thread.onSpinWait();
    }
  }

  /** Whether bytes wait at the server's end of a connection, as the system's table tells. */
  private boolean isUnread() throws IOException {
    var port = "%04X".formatted(redis.port);
    for (var line : Files.readAllLines(Path.of("/proc/net/tcp"))) {
      var fields = line.strip().split("\\s+", -1);
      if (fields[1].endsWith(":" + port)
          && fields[3].equals("01")
          && !fields[4].endsWith(":00000000")) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void close() {
    shim.close();
    redis.close();
  }
}

package dev.evergreen.chirper;

import dev.evergreen.cluster.ClusterNode;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Node;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.memcached.MemcachedServer;
import dev.evergreen.memcached.MemcachedSettings;
import dev.evergreen.storage.PostgresStorage;
import dev.evergreen.storage.SqliteStorage;
import dev.evergreen.web.SignedSessions;
import dev.evergreen.web.WebServer;
import dev.evergreen.web.WebSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Chirper in this process: the storage, a node with the grains, and in the end the page, and items
 * for memcached.
 */
final class ChirperServer implements AutoCloseable {

  private static final int MANY_NEW_VIEWS = 500;
  private static final int MUCH_WORK = 20_000;
  static final Duration SIGNED_IN_FOR = Duration.ofDays(30);

  /** On the loopback address all browsers are one address. */
  private static final WebSettings SETTINGS =
      WebSettings.DEFAULT
          .withMaxConnectionsPerAddress(WebSettings.DEFAULT.maxConnections())
          .withMaxViewsPerAddress(WebSettings.DEFAULT.maxViews())
          .withMaxNewViewsPerSecond(MANY_NEW_VIEWS)
          .withMaxWorkPerSecond(MUCH_WORK)
          .withMaxHeldBytesPerAddress(WebSettings.DEFAULT.maxHeldBytes())
          .withMaxAnswerBytesPerAddress(WebSettings.DEFAULT.maxAnswerBytes());

  private final SignedSessions sessions;
  private final Storage storage;
  private final Node node;
  private final Watching watching;
  private @Nullable WebServer web;
  private @Nullable WebServer operations;
  private @Nullable MemcachedServer memcached;

  private ChirperServer(DataDirectory data, @Nullable String jdbc, Function<Storage, Node> start)
      throws IOException {
    var key = data.sessionKey();
    storage = jdbc == null ? SqliteStorage.open(data.database()) : PostgresStorage.open(jdbc);
    try {
      node = start.apply(storage);
    } catch (RuntimeException e) {
      storage.close();
      throw e;
    }
    sessions = SignedSessions.withKey(node.grains(), key, SIGNED_IN_FOR);
    watching = new Watching(node);
  }

  /**
   * Starts a node that is alone.
   *
   * @param data not closed with it
   * @param jdbc the PostgreSQL database that has the grains; null for a file in {@code data}
   * @throws IOException if the directory cannot be read or written
   */
  static ChirperServer alone(DataDirectory data, @Nullable String jdbc) throws IOException {
    return new ChirperServer(data, jdbc, ChirperServer::node);
  }

  /**
   * Starts a node of a cluster on this machine; blocks until it takes part.
   *
   * @param port where the other nodes reach it
   * @param seeds the addresses of all nodes
   * @throws IllegalStateException if it could not join
   */
  static ChirperServer joined(
      DataDirectory data, @Nullable String jdbc, int port, List<String> seeds) throws IOException {
    return new ChirperServer(data, jdbc, storage -> clusterNode(storage, port, seeds));
  }

  /** A node that hosts Chirper's grains. */
  static Node node(Storage storage) {
    return EmbeddedNode.builder().grains(ChirperGrains.types()).storage(storage).start();
  }

  private static Node clusterNode(Storage storage, int port, List<String> seeds) {
    return ClusterNode.builder()
        .name("chirper")
        .grains(ChirperGrains.types())
        .storage(storage)
        .listen("127.0.0.1", port)
        .linkPort(0)
        .seeds(seeds.toArray(String[]::new))
        // Between processes of one machine nothing but its kernel refuses a connection.
        .crashEvidence()
        .start();
  }

  Grains grains() {
    return node.grains();
  }

  /**
   * Serves the page on 127.0.0.1, once.
   *
   * @param port 0 for any free one
   * @param pages the ports of all nodes' pages, if there are several: a page whose node is gone
   *     moves to another
   * @return the actual port
   */
  synchronized int serve(int port, List<Integer> pages) {
    var builder = WebServer.builder(node).port(port).settings(SETTINGS);
    var others = pages.stream().filter(other -> other != port);
    builder.peers(others.flatMap(ChirperServer::origins).toArray(String[]::new));
    new Pages(node.grains(), sessions, pages).addTo(builder);
    watching.addHealthTo(builder);
    addHome(builder);
    var started = builder.staticResources("/", Chirper.class, "/page").singlePage().start();
    watching.watch(started);
    web = started;
    return started.port();
  }

  /** The page of who is signed in comes with their timeline, if the page was built. */
  private static void addHome(WebServer.Builder server) {
    try (var page = Chirper.class.getResourceAsStream("/page/index.html")) {
      if (page != null) {
        var html = new String(page.readAllBytes(), StandardCharsets.UTF_8);
        server.page("/", html, request -> Pages.FIRST);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Serves what an operator wants to see on 127.0.0.1, once.
   *
   * @param port 0 for any free one
   * @return the actual port
   */
  synchronized int serveOperations(int port) {
    var builder = WebServer.builder(node).port(port);
    watching.addAllTo(builder);
    var started = builder.start();
    operations = started;
    return started.port();
  }

  /**
   * Serves {@link CachedItems} to clients of memcached on 127.0.0.1, once.
   *
   * @param port 0 for any free one
   * @return the actual port
   * @throws IOException if the port is taken
   */
  synchronized int serveMemcached(int port) throws IOException {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    var started =
        MemcachedServer.start(
            MemcachedSettings.DEFAULT
                .withAddresses(List.of(address))
                .withProcessors(1)
                .withLive(CachedItems.of(node)));
    memcached = started;
    return ((InetSocketAddress) started.addresses().getFirst()).getPort();
  }

  /** A page keeps to the name by which it was opened, as its cookies do. */
  private static Stream<String> origins(int port) {
    return Stream.of("http://127.0.0.1:" + port, "http://localhost:" + port);
  }

  /**
   * Ends the items and the page, then the node, which hands its grains over, then the storage.
   * Idempotent.
   */
  @Override
  public synchronized void close() {
    if (memcached != null) {
      memcached.close();
    }
    if (web != null) {
      web.close();
    }
    if (operations != null) {
      operations.close();
    }
    watching.close();
    node.close();
    storage.close();
  }
}

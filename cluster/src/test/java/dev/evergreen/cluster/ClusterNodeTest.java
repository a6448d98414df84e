package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import dev.evergreen.cluster.links.LinkSecurity;
import dev.evergreen.cluster.links.LinkSettings;
import dev.evergreen.cluster.links.Relay;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.reports.LifeLog;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.settings.FreePorts;
import dev.evergreen.storage.SqliteStorage;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.MemberStatus;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;

/** Nodes of a cluster, several in one process. Each test has its own, which mostly wait. */
@Execution(CONCURRENT)
@Timeout(120)
final class ClusterNodeTest {

  private final Path directory;
  private final List<ClusterNode> nodes = new ArrayList<>();
  private Storage storage = new MemoryStorage();

  ClusterNodeTest(@TempDir Path directory) {
    this.directory = directory;
  }

  @BeforeEach
  void openStorage() {
    storage = SqliteStorage.open(directory.resolve("states.db"));
  }

  @AfterEach
  void stop() {
    nodes.reversed().forEach(ClusterNode::close);
    storage.close();
  }

  private ClusterNode.Builder describe() {
    return ClusterNode.builder()
        .name("test")
        .listen("127.0.0.1", 0)
        .grain(Ledger.class, Ledger.InState::new)
        .storage(storage)
        .whenFenced(reason -> {});
  }

  private ClusterNode start(ClusterNode.Builder builder) {
    var node = builder.start();
    nodes.add(node);
    return node;
  }

  private static Ledger ledger(ClusterNode node, String key) {
    return node.grains().get(Ledger.class, key);
  }

  @Test
  void grainsAreSpreadOverTheNodesThatHostThemAndFoundFromAll() throws Exception {
    var first = start(describe());
    var second = start(describe().seeds(first.self().address()));
    var guest = start(describe().seeds(first.self().address()).hostsNoGrains());
    for (var node : nodes) {
      await("being ready", node::ready);
    }
    await("a share", () -> second.ownedPartitions() > 0);
    for (int i = 0; i < 50; i++) {
      ledger(guest, "l" + i).put("guest", i);
    }
    for (int i = 0; i < 50; i++) {
      assertEquals(Map.of("guest", (long) i), ledger(first, "l" + i).entries());
      assertEquals(Map.of("guest", (long) i), ledger(second, "l" + i).entries());
    }
    await("all partitions", () -> first.ownedPartitions() + second.ownedPartitions() == 128);
    assertEquals(0, guest.ownedPartitions());
    try (var computation =
        guest.reactive(() -> ledger(guest, "l1").entries().getOrDefault("first", 0L))) {
      var tracker = computation.tracker();
      assertEquals(0L, tracker.next());
      ledger(first, "l1").put("first", 7);
      assertEquals(7L, tracker.next(Duration.ofSeconds(20)));
      assertEquals(Freshness.CURRENT, tracker.freshness());
    }
    var members = guest.members();
    assertEquals(3, members.size());
    assertEquals(2, members.stream().filter(Member::hosts).count());
    var reporting = new TreeSet<String>();
    guest.reports().forEach(report -> reporting.add(report.node().address()));
    assertEquals(3, reporting.size(), reporting::toString);
    assertTrue(NodeReport.of(guest).links().messagesIn() > 0);
  }

  @Test
  void aNodeThatLeavesIsMissedByNobody() throws Exception {
    var first = start(describe());
    var second = start(describe().seeds(first.self().address()));
    await("being ready", second::ready);
    for (int i = 0; i < 20; i++) {
      ledger(first, "l" + i).put("first", i);
    }
    try (var computation =
        second.reactive(() -> ledger(second, "l3").entries().getOrDefault("first", 0L))) {
      var tracker = computation.tracker();
      assertEquals(3L, tracker.next());
      first.close();
      assertFalse(first.live());
      assertFalse(first.ready());
      assertThrows(NodeStoppedException.class, () -> ledger(first, "l3").entries());
      for (int i = 0; i < 20; i++) {
        ledger(second, "l" + i).put("first", 100 + i);
      }
      long shown = 3;
      while (shown != 103) {
        shown = tracker.next(Duration.ofSeconds(20));
      }
    }
    await("the other being gone", () -> second.members().size() == 1);
    first.close();
  }

  /** As behind a firewall that lets only Pekko's port through: the links refuse each other. */
  @Test
  void aNodeThatIsHeardButNotReachedByCallsIsGivenNoGrainsAndDoesNotStart() throws Exception {
    var first = start(describe().operator(0));
    await("being ready", first::ready);
    var starting =
        CompletableFuture.supplyAsync(
            () ->
                start(
                    describe()
                        .seeds(first.self().address())
                        .joinWithin(Duration.ofSeconds(8))
                        .links(shipped -> LinkSettings.of("another"))));
    var listed = "";
    for (long number = 1; !starting.isDone(); number++) {
      if (!listed.contains(" hosts without-link")) {
        listed = asOperator(first, "members");
      }
      for (int i = 0; i < 50; i++) {
        ledger(first, "l" + i).put("first", number);
      }
    }
    var failure = assertThrows(CompletionException.class, starting::join);
    assertNames(failure, "no connection for calls to [" + first.self().address());
    assertTrue(listed.contains(" hosts without-link"), listed);
    await("being alone", () -> first.members().size() == 1);
    assertEquals(128, first.ownedPartitions());
  }

  /** The host came when the guest had started; it connects to the other, nobody to its links. */
  @Test
  void aGuestThatNeverReachesOneOfTheHostsEndsByItselfAndSaysWhom() throws Exception {
    var first = start(describe().listen("127.0.0.3", 0));
    var ended = new CompletableFuture<String>();
    var guest =
        start(
            describe()
                .seeds(first.self().address())
                .hostsNoGrains()
                .joinWithin(Duration.ofSeconds(10))
                .links(shipped -> shipped.withDeadAfter(Duration.ofSeconds(5)))
                .whenFenced(ended::complete));
    int port = FreePorts.next();
    // Who has the lower address connects.
    try (var _ =
        new Relay(
            new InetSocketAddress("127.0.0.4", port), new InetSocketAddress("127.0.0.2", port))) {
      var last =
          start(
              describe()
                  .listen("127.0.0.2", port)
                  .bind("127.0.0.4")
                  .linkPort(0)
                  .joinWithin(Duration.ofSeconds(15)) // the longer one
                  .seeds(first.self().address()));
      var reason = ended.get(60, TimeUnit.SECONDS);
      assertTrue(Integer.parseInt(reason.split(" ", -1)[1]) >= 20, reason);
      assertTrue(reason.contains("never a connection for calls to 127.0.0.2:" + port), reason);
      assertFalse(guest.live());
      await("the end of the guest", () -> first.members().size() == 2);
      await("its end there", () -> last.members().size() == 2);
      assertTrue(first.live() && last.live());
      ledger(last, "l").put("last", 1);
      nodes.remove(last);
      last.close(); // before its relay
    }
  }

  @Test
  void aMemberThatSaysALinkPortThatThereIsNotEndsNobody() throws Exception {
    var node = start(describe());
    await("being ready", node::ready);
    var guest = describe().seeds(node.self().address()).hostsNoGrains().described();
    var other = PekkoSystem.start(guest, 70_000, Duration.ZERO, null);
    try {
      var cluster = joinedTo(node, other);
      await("its being told of", () -> node.members().size() == 2);
      await("its being up", () -> cluster.selfMember().status() == MemberStatus.up());
      assertEquals(
          List.of(0),
          node.members().stream()
              .filter(member -> !member.id().equals(node.self()))
              .map(Member::linkPort)
              .toList());
      ledger(node, "l").put("node", 1);
      assertTrue(node.live());
    } finally {
      endAtOnce(other);
    }
  }

  /** Fails at a line of the life log, as no logger should. */
  private static final class FailingLog extends Handler implements AutoCloseable {
    private static final Logger LOG = Logger.getLogger(LifeLog.NAME);

    private final Queue<String> said = new ConcurrentLinkedQueue<>();
    private final String at;

    FailingLog(String at) {
      this.at = at;
      LOG.addHandler(this);
    }

    @Override
    public void publish(LogRecord line) {
      said.add(line.getMessage());
      if (line.getMessage().startsWith(at)) {
        throw new IllegalStateException("a logger's");
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
      LOG.removeHandler(this);
    }
  }

  /** Whatever it fails at: what it was told then is lost. */
  @Test
  void aNodeThatCannotMakeOutWhatItIsToldOfTheMembersSaysSoAndEnds() throws Exception {
    var ended = new CompletableFuture<String>();
    var node = start(describe().whenFenced(ended::complete));
    var guest = describe().seeds(node.self().address()).hostsNoGrains().described();
    var other = PekkoSystem.start(guest, 1, Duration.ZERO, null);
    try (var log = new FailingLog("event=member node=" + node.self())) {
      joinedTo(node, other);
      var reason = ended.get(60, TimeUnit.SECONDS);
      assertTrue(reason.contains("lost track of the members"), reason);
      assertFalse(node.live());
      assertThrows(NodeStoppedException.class, () -> ledger(node, "l").entries());
      var told = "event=lost-track node=" + node.self();
      await("its saying so", () -> log.said.stream().anyMatch(line -> line.startsWith(told)));
    } finally {
      endAtOnce(other);
    }
  }

  private static Cluster joinedTo(ClusterNode node, ActorSystem other) {
    var cluster = Cluster.get(other);
    var seed = Seeds.Address.parse(node.self().address());
    var own = cluster.selfAddress();
    cluster.join(new Address(own.protocol(), own.system(), seed.host(), seed.port()));
    return cluster;
  }

  /** It does not wait for others to let it go. */
  private static void endAtOnce(ActorSystem other) {
    var cluster = Cluster.get(other);
    cluster.down(cluster.selfAddress());
    await("its end", cluster::isTerminated);
    other.terminate();
    other.getWhenTerminated().toCompletableFuture().join();
  }

  /** Whoever is asked last would not be asked. */
  @Test
  void whatFailsAtTheEndKeepsNothingElseFromItsEnd() {
    var failing = new AtomicInteger();
    var node =
        start(
            describe()
                .storage(
                    except(
                        "fence",
                        Storage.class,
                        storage,
                        () -> {
                          var fence = storage.fence("test").orElseThrow();
                          return Optional.of(
                              except(
                                  "giveUp",
                                  Fence.class,
                                  fence,
                                  () -> {
                                    failing.incrementAndGet();
                                    throw new IllegalStateException("a storage's");
                                  }));
                        })));
    int port = node.members().getFirst().linkPort();
    node.close();
    assertEquals(1, failing.get());
    assertThrows(
        ConnectException.class, () -> new Socket(InetAddress.getLoopbackAddress(), port).close());
  }

  /** The same object, one of whose methods does something else. */
  private static <T> T except(String method, Class<T> type, T object, Callable<?> instead) {
    InvocationHandler handler =
        (proxy, called, arguments) -> {
          if (called.getName().equals(method)) {
            return instead.call();
          }
          try {
            return called.invoke(object, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        };
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private static String asOperator(ClusterNode node, String question) throws IOException {
    int port = node.operatorPort().orElseThrow();
    try (var answer =
        URI.create("http://127.0.0.1:%d/%s".formatted(port, question)).toURL().openStream()) {
      return new String(answer.readAllBytes(), UTF_8);
    }
  }

  @Test
  void memoryOfEachProcessIsRefusedUnlessItIsAskedFor() {
    var failure =
        assertThrows(
            IllegalArgumentException.class, () -> start(describe().storage(new MemoryStorage())));
    assertNames(failure, "PostgresStorage");
    start(describe().storage(new MemoryStorage()).memoryOfEachProcess());
  }

  @Test
  void plaintextBeyondThisMachineIsRefusedUnlessItIsAskedFor() {
    var failure =
        assertThrows(IllegalArgumentException.class, () -> start(describe().bind("0.0.0.0")));
    assertNames(failure, "TLS");
    start(describe().bind("0.0.0.0").plaintextBeyondThisMachine());
  }

  @Test
  void aPortThatIsTakenIsNamed() throws IOException {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      int port = taken.getLocalPort();
      var links = assertThrows(IllegalStateException.class, () -> start(describe().linkPort(port)));
      assertNames(links, ":" + port);
      var cluster =
          assertThrows(
              IllegalStateException.class,
              () -> start(describe().listen("127.0.0.1", port).linkPort(0)));
      assertNames(cluster, ":" + port);
    }
  }

  /** A thread is no value. */
  interface Broken extends Grain {
    void take(Thread thread);
  }

  @Test
  void aStartThatFailsAtAGrainTypeOrTheStorageLeavesNoPortTaken() throws IOException {
    int port = FreePorts.next();
    int links = FreePorts.next();
    var failing =
        except(
            "fence",
            Storage.class,
            storage,
            () -> {
              throw new IllegalStateException("a storage's");
            });
    assertThrows(
        IllegalStateException.class,
        () -> start(describe().listen("127.0.0.1", port).linkPort(links).storage(failing)));
    assertThrows(
        InvalidGrainException.class,
        () ->
            start(
                describe()
                    .listen("127.0.0.1", port)
                    .linkPort(links)
                    .grain(Broken.class, context -> thread -> {})));
    start(describe().listen("127.0.0.1", port).linkPort(links));
  }

  @Test
  void whoFindsNoClusterInTimeSaysWhereItLooked() throws IOException {
    int nobody = FreePorts.next();
    var failure =
        assertThrows(
            IllegalStateException.class,
            () -> start(describe().seeds("127.0.0.1:" + nobody).joinWithin(Duration.ofSeconds(2))));
    assertNames(failure, "127.0.0.1");
    assertNames(failure, String.valueOf(nobody));
  }

  /** Two nodes that count differently would both host some grains. */
  @Test
  void aNodeWithAnotherNumberOfPartitionsIsNotLetIn() {
    var first = start(describe());
    var failure =
        assertThrows(
            IllegalStateException.class,
            () -> start(describe().partitions(64).seeds(first.self().address())));
    assertNames(failure, "partitions(64)");
    assertEquals(1, first.members().size());
  }

  @Test
  void settingsThatMakeNoSenseAreRefused() {
    assertNames(refusal(describe().name("a b")), "'a b'");
    assertNames(refusal(describe().partitions(0)), "0");
    assertNames(refusal(describe().linkPort(70_000)), "70000");
    assertNames(
        assertThrows(IllegalArgumentException.class, () -> describe().seeds("nowhere")),
        "'nowhere'");
    assertNames(
        refusal(describe().listen("127.0.0.1", 25_620).seeds("127.0.0.1:25620", "127.0.0.1:25621")),
        "127.0.0.1:25621 is this node's own port for links");
    for (var host : List.of("0.0.0.0", "::")) {
      assertNames(
          refusal(describe().listen(host, 0).plaintextBeyondThisMachine()),
          "bind(\"" + host + "\")");
    }
    assertNames(
        refusal(describe().seeds("127.0.0.1:1", "10.0.0.7:25520")),
        "The seed 10.0.0.7:25520 cannot reach this node at 127.0.0.1");
  }

  private IllegalArgumentException refusal(ClusterNode.Builder builder) {
    return assertThrows(IllegalArgumentException.class, () -> start(builder));
  }

  @Test
  void theOthersAreFoundByNameInDns() throws IOException {
    int port = FreePorts.next();
    var dns = new Seeds.Dns("127.0.0.1", port, 1, Duration.ofMillis(10));
    var first = start(describe().listen("127.0.0.1", port).linkPort(0).seeds(dns));
    var second = start(describe().seeds(dns));
    await("each other", () -> first.members().size() == 2 && second.members().size() == 2);
    var missing = new Seeds.Dns("no-such-name.invalid", port, 1, Duration.ofMillis(10));
    var failure =
        assertThrows(
            IllegalStateException.class,
            () -> start(describe().seeds(missing).joinWithin(Duration.ofSeconds(1))));
    assertNames(failure, "no-such-name.invalid");
  }

  @Test
  void nodesWithCertificatesMeetAndAPeerWithoutOneGetsNothing() throws Exception {
    makeCertificates("a", "b");
    var first = start(describe().security(certificate("a")));
    var second = start(describe().security(certificate("b")).seeds(first.self().address()));
    await("being ready", () -> first.ready() && second.ready());
    for (int i = 0; i < 20; i++) {
      ledger(second, "l" + i).put("second", i);
      assertEquals(Map.of("second", (long) i), ledger(first, "l" + i).entries());
    }
    for (var member : first.members()) {
      assertSilent(Integer.parseInt(member.id().address().split(":", -1)[1]));
      assertSilent(member.linkPort());
    }
    assertThrows(
        IllegalStateException.class,
        () -> start(describe().seeds(first.self().address()).joinWithin(Duration.ofSeconds(3))));
    assertEquals(2, first.members().size());
  }

  /** Whoever speaks no TLS is told nothing but an alert, and cut off. */
  private static void assertSilent(int port) throws IOException {
    try (var socket = new Socket()) {
      socket.setSoTimeout(20_000);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
      socket.getOutputStream().write("AKKA\1\0\0\0 let me in\r\n\r\n".getBytes(UTF_8));
      socket.getOutputStream().flush();
      int alert = 0x15;
      byte[] answer;
      try {
        answer = socket.getInputStream().readAllBytes();
      } catch (SocketException e) {
        return; // reset
      }
      assertTrue(answer.length == 0 || answer[0] == alert, () -> answer.length + " bytes");
    }
  }

  private void makeCertificates(String... names) throws Exception {
    var command = new ArrayList<>(List.of("../scripts/certificates", directory.toString()));
    command.addAll(List.of(names));
    var made = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output = new String(made.getInputStream().readAllBytes(), UTF_8);
    assertEquals(0, made.waitFor(), output);
  }

  private LinkSecurity certificate(String name) throws Exception {
    return LinkSecurity.of(
        directory.resolve(name + ".key"),
        directory.resolve(name + ".pem"),
        directory.resolve("authority.pem"));
  }

  private static void assertNames(Throwable failure, String part) {
    assertTrue(
        String.valueOf(failure.getMessage()).contains(part),
        () -> part + " is missing in: " + failure.getMessage());
  }
}

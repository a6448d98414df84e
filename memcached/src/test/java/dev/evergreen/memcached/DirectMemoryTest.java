package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.fibers.AllBuffers;
import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Fibers.Mode;
import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.memcached.live.LiveViews;
import dev.evergreen.store.Key;
import dev.evergreen.store.LockedKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers that have little memory for buffers, in JVMs of their own. */
@Timeout(120)
class DirectMemoryTest {

  /** Seen: the memory was gone before any was slow, and all who asked for something were closed. */
  @ParameterizedTest
  @EnumSource
  void manyThatPipelineAndDoNotReadTakeNoMemoryFromOthers(Mode mode) throws Exception {
    assertEquals("all was read\n", run(Deaf.class, mode));
  }

  /** Seen: each kept a buffer with the rest of its requests while others had their turns. */
  @ParameterizedTest
  @EnumSource
  void manyThatPipelineAndReadAreAllServed(Mode mode) throws Exception {
    assertEquals("all was read\n", run(Busy.class, mode));
  }

  /** Seen: it all went to the heap, however much it was. */
  @Test
  void whatManyHaveSentAndIsNotAnsweredYetTakesLittleOfTheHeap() throws Exception {
    assertEquals("all was read\n", run(Kept.class, Mode.PROCESSORS));
  }

  /** Seen: each looked for itself, sixty times a second. */
  @Test
  void ofManyThatWaitForTheEndOfACrowdOneLooks() throws Exception {
    assertEquals("all was read\n", run(Patient.class, Mode.PROCESSORS));
  }

  /** Seen: nobody was served as long as they did so. */
  @ParameterizedTest
  @EnumSource
  void manyThatAlwaysTakeSomethingDoNotStopTheServer(Mode mode) throws Exception {
    assertEquals("all was read\n", run(Steady.class, mode));
  }

  /** Seen: who had begun a request took buffers, however few were left. */
  @Test
  void whoEndsARequestWaitsWhileOthersHaveAllBuffers() throws Exception {
    assertEquals("all was read\n", run(Amid.class, Mode.PROCESSORS));
  }

  /** Seen: it was never asked whether there were buffers for the next of its pieces. */
  @ParameterizedTest
  @ValueSource(classes = {ManyKeys.class, Dump.class, Listed.class})
  void whoIsAmidMuchWorkKeepsNoBufferWhileOthersHaveThem(Class<?> main) throws Exception {
    // Of which only the one processor is ours alone.
    assertEquals("all was read\n", run(main, Mode.PROCESSORS));
  }

  /** Seen: it went on with what another one had left in the next buffer. */
  @Test
  void whoseFirstResultComesWhileOthersHaveAllBuffersKeepsItsRequest() throws Exception {
    assertEquals("all was read\n", run(Gated.class, Mode.PROCESSORS));
  }

  /** Seen: who had received many requests by then kept them in a buffer, whatever was short. */
  @Test
  void whatWasReceivedKeepsNoBufferWhileTheyAreShort() throws Exception {
    assertEquals("all was read\n", run(Pipeline.class, Mode.PROCESSORS));
  }

  /** Seen: it went on as nobody waited, and nobody else could have anything stored. */
  @ParameterizedTest
  @EnumSource
  void whoHoldsAllRoomIsHungUpOnThoughNobodyMayWaitForIt(Mode mode) throws Exception {
    assertEquals("all was read\n", run(Held.class, mode));
  }

  /** Seen: each kept all that it takes to answer, and memory outside of the heap. */
  @Test
  void whoIsWaitedForAmidARequestKeepsLittleMoreThanWhatHasCome() throws Exception {
    assertEquals("all was read\n", run(Unfinished.class, Mode.PROCESSORS));
  }

  /**
   * Seen: each that came to the lock of a key had a buffer, and the next one's client was closed.
   */
  @Test
  void moreThanThereAreBuffersForWantToChangeAKeyAtOnce() throws Exception {
    assertEquals("all was read\n", run(Contended.class, Mode.PROCESSORS));
  }

  private static String run(Class<?> main, Mode mode) throws Exception {
    var printed = Files.createTempFile("child", ".txt");
    try {
      return run(main, mode, printed);
    } finally {
      Files.delete(printed);
    }
  }

  /** It ends with this test, however that ends. */
  private static String run(Class<?> main, Mode mode, Path printed) throws Exception {
    var command = new ArrayList<String>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(List.of("--add-opens", "java.base/java.lang=ALL-UNNAMED"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-Xmx200m"));
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(List.of("-XX:MaxDirectMemorySize=32m", "-cp"));
    command.addAll(List.of(System.getProperty("java.class.path"), main.getName()));
    command.add(mode.name());
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    var process = builder.redirectOutput(printed.toFile()).start();
    try {
      // Unlike a wait for its output this one ends if it takes too long.
      int status = process.waitFor();
      assertEquals(0, status, () -> text(printed));
      return text(printed);
    } finally {
      process.destroyForcibly();
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** In a child: has it end if its parent does, which holds the other end of its input. */
  private static void endWithParent() {
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                var _ = System.in.read();
              } catch (IOException e) {
                // That is the end as well.
                return;
              } finally {
                Runtime.getRuntime().halt(2);
              }
            });
  }

  /**
   * Clients for which all buffers are kept but a few, more than there may be before others wait.
   */
  private static final class Crowd implements AutoCloseable {
    private final List<Member> members = new ArrayList<>();

    Crowd(MemcachedServer server) {
      while (!server.isShortOfBuffers() || !server.isCrowded()) {
        members.add(new Member(server.blockedWriters));
      }
    }

    /** Has all of them take something. */
    void move() {
      members.forEach(Member::move);
    }

    @Override
    public void close() {
      members.forEach(Member::close);
    }
  }

  private static final class Member {
    private final Pace pace = new Pace();
    private final AtomicBoolean hungUp = new AtomicBoolean();
    private final SlowPeers.Hold hold;
    private final Buffers.Loan in = Buffers.borrow();
    private final Buffers.Loan out = Buffers.borrow();

    Member(SlowPeers peers) {
      hold = peers.hold(pace, () -> hungUp.set(true));
      pace.waits();
    }

    void move() {
      if (hungUp.get()) {
        close();
      } else {
        pace.goesOn();
        pace.moved(1 << 16);
        pace.waits();
      }
    }

    void close() {
      hold.close();
      in.close();
      out.close();
    }
  }

  /** Many clients that have sent a part of a request each. */
  static final class Unfinished {
    private static final int CLIENTS = 2_000;

    /** So often it is looked whether they keep too much. */
    private static final int LOOKS = 10;

    /**
     * For what a stack takes more in one place than in another, such as where it has waited for a
     * buffer before, and what says what has come. Less than a hold takes, which is to be seen.
     */
    private static final int FEW_BYTES = 768;

    /** What answers is kept amid a value that goes into the store as it comes. */
    private static final int WORKER = 3_072;

    /** That it must not be too slow. */
    private static final int HOLD = 1_024;

    private Unfinished() {}

    private record Request(String part, String rest, String reply, int kept) {}

    private static final List<Request> REQUESTS =
        List.of(
            new Request("g", "et x\r\n", "END\r\n", 1),
            new Request("set k 0 0 2000\r\n" + v(1_000), v(1_000) + "\r\n", "STORED\r\n", 1_020),
            new Request("get" + " x".repeat(1_100), "\r\n", "END\r\n", 10),
            new Request(
                "set k 0 0 9000\r\nv",
                v(8_999) + "\r\n",
                "SERVER_ERROR object too large for cache\r\n",
                HOLD),
            new Request("set k 0 0 3000\r\nv", v(2_999) + "\r\n", "STORED\r\n", WORKER));

    private static String v(int length) {
      return "v".repeat(length);
    }

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var settings =
          TestServer.settings(Mode.valueOf(arguments[0]))
              .withConnections(CLIENTS)
              .withMemory(512 << 20) // Nobody waits for others that make room.
              .withItemLimit(4_000);
      try (var server = TestServer.start(settings)) {
        var clients = new ArrayList<Client>();
        for (int i = 0; i < CLIENTS; i++) {
          clients.add(server.connect());
        }
        // What is made once is made, and stacks are those of compiled code.
        for (int i = 0; i < 3 * REQUESTS.size(); i++) {
          run(server.server(), clients, REQUESTS.get(i % REQUESTS.size()), () -> {});
        }
        for (var request : REQUESTS) {
          long before = used();
          run(server.server(), clients, request, () -> check(request, before));
        }
        System.out.println("all was read");
      }
    }

    private static void run(
        MemcachedServer server, List<Client> clients, Request request, Runnable amid)
        throws Exception {
      long read = server.statistics.read.sum() + (long) clients.size() * request.part.length();
      for (var client : clients) {
        client.send(request.part);
      }
      while (server.statistics.read.sum() < read || !allWait(server)) {
        Thread.sleep(1);
      }
      amid.run();
      for (var client : clients) {
        client.send(request.rest);
      }
      for (var client : clients) {
        if (!client.read(request.reply.length()).equals(request.reply)) {
          throw new AssertionError("another reply to " + request);
        }
      }
    }

    private static boolean allWait(MemcachedServer server) {
      return server.sessions.values().stream()
          .allMatch(one -> one.in.isWaiting() && one.in.memory == MemorySegment.NULL);
    }

    /** On the heap and, but for buffers, outside. */
    private static long used() {
      for (int i = 0; i < 3; i++) {
        System.gc();
      }
      long outside =
          ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
              .mapToLong(BufferPoolMXBean::getMemoryUsed)
              .sum();
      long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
      return heap + outside - AllBuffers.bytes();
    }

    private static void check(Request request, long before) {
      long each = (used() - before) / CLIENTS;
      // Buffers that nobody needed may have been left to the collector since, which comes for them.
      for (int i = 0; i < LOOKS && each > request.kept + FEW_BYTES; i++) {
        each = (used() - before) / CLIENTS;
      }
      if (each > request.kept + FEW_BYTES) {
        throw new AssertionError(each + " bytes each amid " + request.part);
      }
    }
  }

  /** Who changes a key loses its processor, and more want to change it than there are buffers. */
  static final class Contended {
    private Contended() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      int count = Buffers.capacity() + 50;
      var settings = TestServer.settings(Mode.valueOf(arguments[0])).withConnections(count);
      try (var server = TestServer.start(settings)) {
        var clients = new ArrayList<Client>();
        for (int i = 0; i < count; i++) {
          clients.add(server.connect());
        }
        while (server.server().limit.served() < count) {
          Thread.sleep(1);
        }
        try (var _ = new LockedKey(server.server().store, "k")) {
          for (var client : clients) {
            client.send("set k 0 0 1\r\nx\r\n");
          }
          while (Buffers.waiting() == 0 && server.server().limit.served() == count) {
            Thread.sleep(1);
          }
        }
        for (var client : clients) {
          var reply = client.line();
          if (!reply.equals("STORED")) {
            throw new AssertionError(reply);
          }
        }
        System.out.println("all was read");
      }
    }
  }

  /** All others wait for clients that read, each at a good rate. */
  static final class Steady {
    private Steady() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var settings =
          TestServer.settings(Mode.valueOf(arguments[0]))
              .withLeastRate(1)
              .withGrace(Duration.ofMillis(500));
      try (var server = TestServer.start(settings);
          var client = server.connect()) {
        client.exchange("");
        try (var crowd = new Crowd(server.server())) {
          client.send("mg k\r\n");
          while (server.server().isCrowded()) {
            crowd.move();
            Thread.sleep(1);
          }
          if (client.line().equals("EN")) {
            System.out.println("all was read");
          }
        }
      }
    }
  }

  /** A client has sent all of a request but its end, which comes when there is a crowd. */
  static final class Amid {
    private Amid() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var settings =
          TestServer.settings(Mode.PROCESSORS).withProcessors(1).withGrace(Duration.ofHours(1));
      try (var server = TestServer.start(settings);
          var client = server.connect()) {
        client.exchange("");
        var in = server.server().sessions.firstEntry().getValue().in;
        long received = server.server().statistics.read.sum() + 2;
        client.send("mg");
        while (server.server().statistics.read.sum() < received || !in.isWaiting()) {
          Thread.sleep(1);
        }
        var waits = new CompletableFuture<Boolean>();
        server.server().spawn(() -> waits.complete(waits(server.server(), client)));
        if (client.line().equals("EN") && waits.get()) {
          System.out.println("all was read");
        }
      }
    }

    private static boolean waits(MemcachedServer server, Client client) {
      var in = server.sessions.firstEntry().getValue().in;
      long received = server.statistics.read.sum();
      try (var _ = new Crowd(server)) {
        client.send(" k\r\n");
        while (in.isWaiting()) {
          Fibers.letOthersRun();
        }
        Watched.letOthersRun();
        return server.statistics.read.sum() == received;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /**
   * A client waits for a live item's first result, with its buffer, as there is no room elsewhere
   * for what it has sent. The result comes when there is a crowd, and some room.
   */
  static final class Gated {
    private Gated() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var begun = new CountDownLatch(1);
      var gate = new CountDownLatch(1);
      try (var node = EmbeddedNode.builder().start();
          var server = TestServer.start(Watched.settings().withLive(views(node, begun, gate)));
          var client = server.connect()) {
        client.exchange("");
        int room = server.server().inputRoom.drainPermits();
        client.send("get gated" + " a".repeat(1_500) + "\r\nmn\r\n");
        begun.await();
        var hadOne = new CompletableFuture<Boolean>();
        server.server().spawn(() -> hadOne.complete(open(server.server(), room, gate)));
        var expected = "VALUE gated 0 6\r\n\"open\"\r\nEND\r\nMN\r\n";
        var reply = client.read(expected.length());
        System.out.println(reply.equals(expected) && hadOne.get() ? "all was read" : reply);
      }
    }

    private static LiveViews views(Node node, CountDownLatch begun, CountDownLatch gate) {
      return LiveViews.over(node)
          .firstResultWithin(Duration.ofMinutes(1))
          .view(
              "gated",
              "gated",
              _ ->
                  () -> {
                    begun.countDown();
                    gate.await();
                    return "open";
                  });
    }

    /** Takes turns with the client's fiber; tells whether that had a buffer as it waited. */
    private static boolean open(MemcachedServer server, int room, CountDownLatch gate) {
      var in = server.sessions.firstEntry().getValue().in;
      Watched.letOthersRun();
      boolean had = in.memory != MemorySegment.NULL;
      try (var _ = new Crowd(server)) {
        server.inputRoom.release(room);
        gate.countDown();
        while (in.memory != MemorySegment.NULL) {
          Fibers.letOthersRun();
        }
      }
      // What it finds in the next buffer is another one's.
      try (var next = Buffers.borrow()) {
        MemorySegment.ofBuffer(next.buffer()).fill((byte) 'Z');
      }
      return had;
    }
  }

  /** Many keys of one command. */
  static final class ManyKeys {
    private ManyKeys() {}

    public static void main(String[] arguments) throws Exception {
      var keys = "get" + " k".repeat(100_000) + "\r\n";
      Watched.run(
          keys, "VALUE k 0 1\r\nx\r\n".repeat(100_000) + "END\r\n", Watched::nothingGoesOnInACrowd);
    }
  }

  /** A list of all items. */
  static final class Dump {
    private Dump() {}

    public static void main(String[] arguments) throws Exception {
      var dump = "lru_crawler mgdump all\r\n";
      Watched.run(dump, "mg k\r\nEN\r\n", Watched::nothingGoesOnInACrowd);
    }
  }

  /** A list of all connections, of which there are many. */
  static final class Listed {
    private Listed() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var settings = Watched.settings();
      try (var server = TestServer.start(settings);
          var client = server.connect()) {
        client.exchange("");
        var others = new ArrayList<Client>();
        for (int i = 0; i < 300; i++) {
          others.add(server.connect());
        }
        while (server.server().sessions.size() <= others.size()) {
          Thread.sleep(1);
        }
        var in = server.server().sessions.firstEntry().getValue().in;
        var watched = Watched.begin(server.server(), _ -> keepsNone(server.server(), in));
        client.send("stats conns\r\n");
        if (client.upTo("END\r\n").contains("secs_since_last_cmd") && watched.get()) {
          System.out.println("all was read");
        }
        for (var other : others) {
          other.close();
        }
      }
    }

    private static boolean keepsNone(MemcachedServer server, Input in) {
      try (var _ = new Crowd(server)) {
        Watched.letOthersRun();
        return in.memory == MemorySegment.NULL && !in.isWaiting();
      }
    }
  }

  /** Many commands, most of which have come before buffers are short, though nobody is slow. */
  static final class Pipeline {
    private Pipeline() {}

    public static void main(String[] arguments) throws Exception {
      Watched.run("mn\r\n".repeat(15_000), "MN\r\n".repeat(15_000), Pipeline::keepsNone);
    }

    private static boolean keepsNone(MemcachedServer server) {
      var loans = new ArrayList<Buffers.Loan>();
      while (!server.isShortOfBuffers()) {
        loans.add(Buffers.borrow());
      }
      Watched.letOthersRun();
      var in = server.sessions.firstEntry().getValue().in;
      boolean kept = in.memory != MemorySegment.NULL;
      loans.forEach(Buffers.Loan::close);
      return !kept && in.available() > 0;
    }
  }

  /** Looks at a client's work, in turns with it, when it has begun. */
  private record Watched(
      MemcachedServer server,
      long before,
      Predicate<MemcachedServer> isRight,
      CompletableFuture<Boolean> wasRight)
      implements Runnable {
    private static final int TURNS = 5;

    static void run(String requests, String replies, Predicate<MemcachedServer> isRight)
        throws Exception {
      endWithParent();
      try (var server = TestServer.start(settings());
          var client = server.connect()) {
        client.exchange("set k 0 0 1\r\nx\r\n");
        var watched = begin(server.server(), isRight);
        client.send(requests);
        if (client.read(replies.length()).equals(replies) && watched.get()) {
          System.out.println("all was read");
        }
      }
    }

    static MemcachedSettings settings() {
      return TestServer.settings(Mode.PROCESSORS)
          .withProcessors(1)
          .withRequestsPerTurn(20)
          .withGrace(Duration.ofHours(1));
    }

    /** To be called before the work begins. */
    static CompletableFuture<Boolean> begin(
        MemcachedServer server, Predicate<MemcachedServer> isRight) {
      long before = server.statistics.yields.sum();
      var watched = new Watched(server, before, isRight, new CompletableFuture<>());
      server.spawn(watched);
      return watched.wasRight;
    }

    @Override
    public void run() {
      try {
        while (server.statistics.yields.sum() < before + 2) {
          Fibers.letOthersRun();
        }
        wasRight.complete(isRight.test(server));
      } catch (RuntimeException | Error e) {
        wasRight.completeExceptionally(e);
      }
    }

    static boolean nothingGoesOnInACrowd(MemcachedServer server) {
      try (var _ = new Crowd(server)) {
        letOthersRun();
        long written = server.statistics.written.sum();
        letOthersRun();
        return server.statistics.written.sum() == written
            && server.sessions.firstEntry().getValue().in.memory == MemorySegment.NULL;
      }
    }

    static void letOthersRun() {
      for (int i = 0; i < TURNS; i++) {
        Fibers.letOthersRun();
      }
    }
  }

  /** A client holds the room that another one needs, who may not wait for it with a buffer. */
  static final class Held {
    private Held() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var settings =
          TestServer.settings(Mode.valueOf(arguments[0]))
              .withMemory(8 << 20)
              .withGrace(Duration.ofMillis(1));
      var loans = new ArrayList<Buffers.Loan>();
      try (var server = TestServer.start(settings);
          var holder = server.connect();
          var client = server.connect()) {
        client.exchange("");
        holder.send("set half 0 0 700000\r\n" + "v".repeat(5_000));
        while (server.server().valueHolders.count() == 0) {
          Thread.sleep(1);
        }
        while (!server.server().isShortOfBuffers()) {
          loans.add(Buffers.borrow());
        }
        client.send("set large 0 0 700000\r\n" + "v".repeat(700_000) + "\r\n");
        var reply = client.line();
        if (reply.startsWith("SERVER_ERROR out of memory") && holder.rest().isEmpty()) {
          System.out.println("all was read");
        }
        loans.forEach(Buffers.Loan::close);
      }
    }
  }

  /** Twice as many clients as there is memory for do not read; then one does. */
  static final class Deaf {
    private static final int CLIENTS = 500;
    private static final int COMMANDS = 5_000;

    private Deaf() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var settings =
          TestServer.settings(Mode.valueOf(arguments[0]))
              .withWriteTimeout(Duration.ofHours(1))
              .withGrace(Duration.ofSeconds(2));
      try (var server = TestServer.start(settings);
          var reader = server.connect()) {
        reader.exchange("set k 0 0 7000\r\n" + "x".repeat(7000) + "\r\n");
        var deaf = new ArrayList<Client>();
        for (int i = 0; i < CLIENTS; i++) {
          deaf.add(server.connectWithSmallBuffer());
          deaf.getLast().send("get k\r\n".repeat(COMMANDS));
        }
        reader.send("get k\r\n".repeat(COMMANDS));
        var expected = "VALUE k 0 7000\r\n" + "x".repeat(7000) + "\r\nEND\r\n";
        for (int i = 0; i < COMMANDS; i++) {
          if (!reader.read(expected.length()).equals(expected)) {
            throw new AssertionError("reply " + i);
          }
        }
        System.out.println("all was read");
        for (var client : deaf) {
          client.close();
        }
      }
    }
  }

  /** Many wait for the end of a crowd. */
  static final class Patient {
    private static final int CLIENTS = 50;
    private static final int LOOKS = 20;

    private Patient() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var settings =
          TestServer.settings(Mode.PROCESSORS).withProcessors(1).withGrace(Duration.ofHours(1));
      try (var server = TestServer.start(settings)) {
        var clients = new ArrayList<Client>();
        for (int i = 0; i < CLIENTS; i++) {
          clients.add(server.connect());
          clients.getLast().exchange("");
        }
        long runs;
        try (var _ = new Crowd(server.server())) {
          for (var client : clients) {
            client.send("mg k\r\n");
          }
          while (server.server().waitForEndOfCrowd() < CLIENTS - 1) {
            Thread.sleep(1);
          }
          runs = runsDuringLooks(server.server());
        }
        for (var client : clients) {
          if (!client.line().equals("EN")) {
            throw new AssertionError("another reply");
          }
          client.close();
        }
        // One looks as often as we do.
        System.out.println(runs < 5 * LOOKS ? "all was read" : runs + " runs");
      }
    }

    /** How often fibers run while one looks so often. */
    private static long runsDuringLooks(MemcachedServer server) throws Exception {
      var runs = new CompletableFuture<Long>();
      server.spawn(
          () -> {
            try {
              long before = runs(server);
              for (int i = 0; i < LOOKS; i++) {
                server.pause(Integer.MAX_VALUE - 1);
              }
              runs.complete(runs(server) - before);
            } catch (IOException | RuntimeException e) {
              runs.completeExceptionally(e);
            }
          });
      return runs.get();
    }

    private static long runs(MemcachedServer server) {
      return server.fibers().processors().stream().mapToLong(one -> one.runs()).sum();
    }
  }

  /** Looks in each of its turns how much of the heap is input that waits for its turn. */
  static final class Kept {
    private static final int CLIENTS = 3_000;

    private Kept() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      var most = new AtomicLong();
      Busy.run(Mode.PROCESSORS, CLIENTS, server -> server.spawn(() -> look(server, most)));
      long room = Runtime.getRuntime().maxMemory() / 16;
      int little = CLIENTS * (TextProtocol.LONGEST_LINE + Key.MAX_LENGTH);
      if (most.get() < room / 2 || most.get() > room + little) {
        System.out.println("as much as " + most + " beside " + room + " and " + little);
      }
    }

    private static void look(MemcachedServer server, AtomicLong most) {
      while (server.limit.served() > 0 && !Thread.currentThread().isInterrupted()) {
        long kept = server.sessions.values().stream().mapToLong(one -> kept(one.in)).sum();
        most.accumulateAndGet(kept, Math::max);
        Fibers.letOthersRun();
      }
    }

    private static long kept(Input in) {
      return in.memory == MemorySegment.NULL ? in.available() : 0;
    }
  }

  /** More clients than there is memory for send a buffer full of requests each. */
  static final class Busy {
    private static final int COMMANDS = 9_000;

    private Busy() {}

    public static void main(String[] arguments) throws Exception {
      endWithParent();
      run(Mode.valueOf(arguments[0]), 700, _ -> {});
    }

    /**
     * Has them all served.
     *
     * @param meanwhile called when all have sent and none was served
     */
    static void run(Mode mode, int count, Consumer<MemcachedServer> meanwhile) throws Exception {
      var settings = TestServer.settings(mode).withProcessors(1).withConnections(count);
      try (var server = TestServer.start(settings)) {
        var clients = new ArrayList<Client>();
        for (int i = 0; i < count; i++) {
          clients.add(server.connect());
        }
        while (server.server().limit.served() < count) {
          Thread.sleep(1);
        }
        // All have sent theirs before the first of them is served.
        var sent = new CountDownLatch(1);
        server.server().spawn(() -> hold(sent));
        for (var client : clients) {
          client.send("get k\r\n".repeat(COMMANDS));
        }
        meanwhile.accept(server.server());
        sent.countDown();
        var expected = "END\r\n".repeat(COMMANDS);
        for (var client : clients) {
          if (!client.read(expected.length()).equals(expected)) {
            throw new AssertionError("other replies");
          }
          client.close();
        }
        System.out.println("all was read");
      }
    }

    private static void hold(CountDownLatch sent) {
      while (sent.getCount() > 0) {
        Thread.onSpinWait();
      }
    }
  }
}

package dev.evergreen.bench.load;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A server, of others or of ours, that was started by a command: a child of this process until it
 * is closed. What it says of errors goes to this process's own.
 */
public final class ServerProcess implements AutoCloseable {

  /** In a command, stands for the port. */
  public static final String PORT = "{port}";

  /** It may have to be built first. */
  private static final Duration LONGEST_START = Duration.ofMinutes(5);

  private static final Duration LONGEST_ANSWER = Duration.ofSeconds(5);
  private static final Duration LONGEST_END = Duration.ofSeconds(10);

  /** How to see that a server is up; some accept connections before they can answer. */
  public enum Probe {
    /** It accepts connections. */
    CONNECTION(""),
    /** It answers memcached's protocol. */
    MEMCACHED("version\r\n"),
    /** It answers a request for the path {@code /1024}. */
    HTTP("GET /1024 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");

    private final String question;

    Probe(String question) {
      this.question = question;
    }

    private boolean succeeds(InetSocketAddress address) {
      try (var socket = new Socket(address.getAddress(), address.getPort())) {
        if (question.isEmpty()) {
          return true;
        }
        socket.setSoTimeout((int) LONGEST_ANSWER.toMillis());
        socket.getOutputStream().write(question.getBytes(StandardCharsets.US_ASCII));
        return socket.getInputStream().read() >= 0;
      } catch (IOException e) {
        return false; // not yet
      }
    }
  }

  /**
   * How a server is started.
   *
   * @param name in tables and messages
   * @param command with {@link #PORT} in it, unless {@code port} is known to it by other means; it
   *     must listen there at 127.0.0.1
   * @param port 0 for any that is free
   * @param core on which it runs, if on one
   * @param environment what it has beside this process's
   */
  public record Plan(
      String name,
      List<String> command,
      Probe probe,
      int port,
      OptionalInt core,
      Map<String, String> environment) {

    /** On a free port, on any core. */
    public static Plan of(String name, List<String> command, Probe probe) {
      return new Plan(name, command, probe, 0, OptionalInt.empty(), Map.of());
    }

    /** The same on this port. */
    public Plan at(int other) {
      return new Plan(name, command, probe, other, core, environment);
    }

    /** The same on this core. */
    public Plan on(int other) {
      return new Plan(name, command, probe, port, OptionalInt.of(other), environment);
    }

    /** The same with these variables. */
    public Plan with(Map<String, String> variables) {
      return new Plan(name, command, probe, port, core, variables);
    }

    /**
     * Starts it, and waits until it answers.
     *
     * @throws IOException if it ends, or does not answer
     */
    public ServerProcess start() throws IOException {
      int chosen = port == 0 ? Programs.freePort() : port;
      var words = new ArrayList<>(command);
      words.replaceAll(word -> word.replace(PORT, "" + chosen));
      words.set(0, Programs.path(words.getFirst()));
      var builder =
          new ProcessBuilder(core.isPresent() ? Cores.pinned(core.getAsInt(), words) : words)
              .redirectOutput(Redirect.DISCARD)
              .redirectError(Redirect.INHERIT);
      builder.environment().putAll(environment);
      var server = new ServerProcess(name, builder.start(), chosen);
      server.await(probe);
      return server;
    }
  }

  private final String name;
  private final Process process;
  private final InetSocketAddress address;
  private final Thread atExit = new Thread(this::terminate);
  private volatile boolean paused;

  private ServerProcess(String name, Process process, int port) {
    this.name = name;
    this.process = process;
    this.address = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port);
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /**
   * Starts a server of memcached's protocol on a core, and waits until it answers.
   *
   * @param command with {@link #PORT} in it
   * @throws IOException if it ends, or does not answer
   */
  public static ServerProcess memcached(List<String> command, int core) throws IOException {
    return Plan.of(String.join(" ", command), command, Probe.MEMCACHED).on(core).start();
  }

  private void await(Probe probe) throws IOException {
    long limit = System.nanoTime() + LONGEST_START.toNanos();
    while (!probe.succeeds(address)) {
      if (!process.isAlive() || System.nanoTime() - limit > 0) {
        close();
        throw new IOException("the server " + name + " did not start");
      }
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
  }

  /** As its plan names it. */
  public String name() {
    return name;
  }

  /** Where it listens. */
  public InetSocketAddress address() {
    return address;
  }

  /** Where it listens on the loopback interface. */
  public int port() {
    return address.getPort();
  }

  /** Its process, without those that it has started. */
  public ProcessHandle process() {
    return process.toHandle();
  }

  /** The processor time of its process and of all that it has started, in microseconds. */
  public double processorMicros() {
    return Stream.concat(Stream.of(process()), process.descendants())
        .mapToDouble(each -> each.info().totalCpuDuration().orElse(Duration.ZERO).toNanos() / 1e3)
        .sum();
  }

  /** Takes the processor from it, and from nobody else, until {@link #resume}. */
  public void pause() throws IOException, InterruptedException {
    signal("-STOP");
    paused = true;
  }

  /** Ends a pause, if there is one. */
  public void resume() throws IOException, InterruptedException {
    signal("-CONT");
    paused = false;
  }

  private void signal(String which) throws IOException, InterruptedException {
    Programs.run(List.of("kill", which, "" + process.pid()));
  }

  /** Moves all of its threads to these cores, as taskset names them. */
  public void moveTo(String cores) throws IOException, InterruptedException {
    Programs.run(List.of("taskset", "-a", "-c", "-p", cores, "" + process.pid()));
  }

  /** Who is paused would hear of a gentler end only when resumed. */
  private void terminate() {
    process.descendants().forEach(ProcessHandle::destroy);
    if (paused) {
      process.destroyForcibly();
    } else {
      process.destroy();
    }
  }

  /** Ends it; blocks until that is done. */
  @Override
  public void close() {
    terminate();
    try {
      if (!process.waitFor(LONGEST_END.toSeconds(), TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().removeShutdownHook(atExit);
  }
}

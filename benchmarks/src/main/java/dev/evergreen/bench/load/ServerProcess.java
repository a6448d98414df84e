package dev.evergreen.bench.load;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A server that is started by a command, as a child of this process. */
public final class ServerProcess implements ServerUnderTest {

  /** In a command, stands for the port. */
  public static final String PORT = "{port}";

  /** It may have to be built first. */
  private static final Duration LONGEST_START = Duration.ofMinutes(5);

  private static final Duration LONGEST_END = Duration.ofSeconds(10);

  private final Process process;
  private final InetSocketAddress address;

  private final Thread atExit;

  private ServerProcess(Process process, InetSocketAddress address) {
    this.process = process;
    this.address = address;
    atExit = new Thread(process::destroy);
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /**
   * Starts one, and waits until it answers.
   *
   * @param command with {@link #PORT} in it; the server must listen there at 127.0.0.1
   * @param folder where it runs
   * @param core on which it runs
   * @throws IOException if it ends, or does not answer
   */
  public static ServerProcess start(List<String> command, Path folder, int core)
      throws IOException {
    var address = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), freePort());
    var port = String.valueOf(address.getPort());
    var process =
        new ProcessBuilder(
                Cores.pinned(core, command.stream().map(w -> w.replace(PORT, port)).toList()))
            .directory(folder.toFile())
            .redirectOutput(Redirect.DISCARD)
            .redirectError(Redirect.INHERIT)
            .start();
    var server = new ServerProcess(process, address);
    long limit = System.nanoTime() + LONGEST_START.toNanos();
    while (!server.answers()) {
      if (!process.isAlive() || System.nanoTime() - limit > 0) {
        server.close();
        throw new IOException("the server did not start: " + String.join(" ", command));
      }
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
    return server;
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  private boolean answers() {
    try (var socket = new Socket(address.getAddress(), address.getPort())) {
      socket.setSoTimeout((int) Duration.ofSeconds(5).toMillis());
      socket.getOutputStream().write("version\r\n".getBytes(StandardCharsets.US_ASCII));
      return socket.getInputStream().read() == 'V';
    } catch (IOException e) {
      return false; // not yet
    }
  }

  @Override
  public InetSocketAddress address() {
    return address;
  }

  @Override
  public ProcessHandle process() {
    return process.toHandle();
  }

  @Override
  public void close() {
    process.destroy();
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

package dev.evergreen.proxy;

import dev.evergreen.http.Origin;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A proxy in a process of its own, such that it can be killed. */
record ProxyProcess(Process process, InetSocketAddress address) implements AutoCloseable {

  /**
   * Starts one with a disk.
   *
   * @param folder of its storage
   * @param before what the shell does before, such as "ulimit -f 1000"
   */
  static ProxyProcess start(Origin origin, Path folder, String before) throws IOException {
    return start(before, origin, 0, folder.toString());
  }

  /** Starts one without a disk at a port that others may share. */
  static ProxyProcess sharing(Origin origin, int port) throws IOException {
    return start(":", origin, port);
  }

  private static ProxyProcess start(String before, Origin origin, int port, String... folder)
      throws IOException {
    var java =
        List.of(
            ProcessHandle.current().info().command().orElse("java"),
            "-Xmx400m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--add-opens",
            "java.base/java.lang=ALL-UNNAMED",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            ProxyProcess.class.getName(),
            Integer.toString(origin.port()),
            Integer.toString(port));
    var command = new ArrayList<>(List.of("sh", "-c", before + "; exec \"$@\"", "sh"));
    command.addAll(java);
    command.addAll(List.of(folder));
    var process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    var line = process.inputReader(StandardCharsets.ISO_8859_1).readLine();
    if (line == null) {
      throw new IOException("the proxy did not start");
    }
    return new ProxyProcess(
        process, new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(line)));
  }

  public static void main(String[] arguments) throws IOException {
    int port = Integer.parseInt(arguments[1]);
    var memory = StorageOptions.memory(4 << 20).memoryObject(100_000);
    var proxy =
        Proxy.start(
            ProxySettings.DEFAULT
                .withAddresses(
                    List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), port)))
                .withOrigins(
                    List.of(new Origin(false, "127.0.0.1", Integer.parseInt(arguments[0]))))
                .withProcessors(2)
                .withSharedPort(arguments.length == 2)
                .withStorage(
                    arguments.length == 2
                        ? memory
                        : memory.onDisk(Path.of(arguments[2]), 64 << 20).segment(4 << 20)));
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(proxy.drain() ? 0 : 1)));
    System.out.println(proxy.addresses().getFirst().getPort());
    // Until it is killed, or whoever started it has ended.
    var _ = System.in.read();
  }

  /** Has it drained by SIGTERM; says whether all requests came to their end. */
  boolean end() throws InterruptedException {
    process.destroy();
    return process.waitFor() == 0;
  }

  /** Ends it as a power cut would. */
  void kill() {
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    kill();
  }
}

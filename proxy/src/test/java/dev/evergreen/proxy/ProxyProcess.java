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

/** A proxy with a disk, in a process of its own, such that it can be killed. */
record ProxyProcess(Process process, InetSocketAddress address) implements AutoCloseable {

  /**
   * Starts one.
   *
   * @param folder of its storage
   * @param before what the shell does before, such as "ulimit -f 1000"
   */
  static ProxyProcess start(Origin origin, Path folder, String before) throws IOException {
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
            folder.toString());
    var command = new ArrayList<>(List.of("sh", "-c", before + "; exec \"$@\"", "sh"));
    command.addAll(java);
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
    var proxy =
        Proxy.start(
            new ProxySettings()
                .addresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
                .origins(List.of(new Origin(false, "127.0.0.1", Integer.parseInt(arguments[0]))))
                .processors(2)
                .storage(
                    StorageOptions.memory(4 << 20)
                        .memoryObject(100_000)
                        .onDisk(Path.of(arguments[1]), 64 << 20)
                        .segment(4 << 20)));
    System.out.println(proxy.addresses().getFirst().getPort());
    // Until it is killed, or whoever started it has ended.
    var _ = System.in.read();
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

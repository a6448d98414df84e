package dev.evergreen.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * The classes of the libraries that {@link LedgerNode} uses, read and checked once for all child
 * processes of all tests, which map them: that is most of a node's start, and who starts disturbs
 * those who keep time beside it. What is compiled here is not among them.
 */
final class SharedClasses {

  private static final long PATIENCE_SECONDS = 120;
  private static final String JAVA =
      Path.of(System.getProperty("java.home"), "bin", "java").toString();
  private static final List<String> SETTINGS =
      List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

  private static final String JARS = classPath(true);

  /** Jars first, as only the beginning of a class path can be mapped. */
  private static final String ALL = JARS + File.pathSeparator + classPath(false);

  /** Empty where they cannot be had: each process reads all by itself then. */
  private static final List<String> OPTIONS = options();

  private SharedClasses() {}

  /** The beginning of a command that runs a {@link LedgerNode}; its arguments follow. */
  static List<String> command() {
    return command(OPTIONS);
  }

  private static List<String> command(List<String> options) {
    var command = new ArrayList<>(List.of(JAVA));
    command.addAll(SETTINGS);
    command.addAll(options);
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("--sun-misc-unsafe-memory-access=allow");
    command.addAll(List.of("-cp", ALL, LedgerNode.class.getName()));
    return command;
  }

  private static String classPath(boolean jars) {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
        .filter(part -> part.endsWith(".jar") == jars)
        .collect(Collectors.joining(File.pathSeparator));
  }

  private static List<String> options() {
    try {
      return List.of("-XX:SharedArchiveFile=" + archive());
    } catch (IOException e) {
      System.err.println("each process reads all of its classes: " + e);
      return List.of();
    }
  }

  /** Made by the first process that wants it; others wait for that. */
  private static Path archive() throws IOException {
    var folder = Files.createDirectories(Path.of("target").toAbsolutePath());
    var name = "ledger-node-%08x".formatted((Runtime.version() + JARS).hashCode());
    var archive = folder.resolve(name + ".jsa");
    try (var channel =
            FileChannel.open(
                folder.resolve(name + ".lock"),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE);
        var _ = channel.lock()) {
      if (!Files.exists(archive)) {
        make(archive);
      }
    }
    return archive;
  }

  private static void make(Path archive) throws IOException {
    var work = Files.createTempDirectory(archive.getParent(), "ledger-node");
    var list = work.resolve("classes").toString();
    var made = work.resolve("archive");
    var host = Processes.Place.onThisMachine().host();
    var node = command(List.of("-XX:DumpLoadedClassList=" + list));
    var states = work.resolve("states.db").toString();
    node.addAll(List.of("n1", "21000", "21001", host + ":21000", states, "host=" + host));
    run(work, node, "write\nprobe 1\nreport\n");
    var dump = new ArrayList<>(List.of(JAVA));
    dump.addAll(SETTINGS);
    dump.addAll(List.of("-Xshare:dump", "-XX:SharedClassListFile=" + list));
    dump.addAll(List.of("-XX:SharedArchiveFile=" + made, "-cp", JARS));
    run(work, dump, "");
    Files.move(made, archive, StandardCopyOption.ATOMIC_MOVE);
  }

  private static void run(Path folder, List<String> command, String input) throws IOException {
    var said = folder.resolve("said").toFile();
    var process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said).start();
    try (var to = process.outputWriter()) {
      to.write(input);
    }
    try {
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IOException("a process did not end well; what it said is in " + said);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } finally {
      process.destroyForcibly();
    }
  }
}

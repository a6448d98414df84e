package dev.evergreen.bench.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * What a server takes at a time.
 *
 * @param second since the beginning of the load
 * @param resident the process's memory in the machine's, in bytes
 * @param liveHeap what is live in its heap after a full collection, in bytes; 0 if it is no JVM
 * @param outside what the JVM itself has committed outside the heap, in bytes; 0 if it does not say
 * @param descriptors that are open
 * @param connections by its own count
 * @param items by its own count
 * @param held bytes of items that are being received or sent, by its own count
 */
public record SoakSample(
    long second,
    long resident,
    long liveHeap,
    long outside,
    long descriptors,
    long connections,
    long items,
    long held) {

  private static final Pattern HISTOGRAM_TOTAL = Pattern.compile("(?m)^Total +\\d+ +(\\d+)");
  private static final Pattern NATIVE_TOTAL = Pattern.compile("committed=(\\d+)KB");

  /** Asks a server and its process. A full collection is part of that. */
  public static SoakSample of(ServerProcess server, long second) throws Exception {
    long pid = server.process().pid();
    var stats = stats(server.address());
    var status = Files.readString(Path.of("/proc/" + pid + "/status"));
    try (var open = Files.list(Path.of("/proc/" + pid + "/fd"))) {
      return new SoakSample(
          second,
          1024 * number(status, Pattern.compile("VmRSS:\\s+(\\d+)")),
          number(jcmd(pid, "GC.class_histogram"), HISTOGRAM_TOTAL),
          1024 * nonHeap(jcmd(pid, "VM.native_memory")),
          open.count(),
          stats.getOrDefault("curr_connections", 0L),
          stats.getOrDefault("curr_items", 0L),
          stats.getOrDefault("memory_held", 0L));
    }
  }

  private static long nonHeap(String report) {
    long heap = 0;
    int at = report.indexOf("Java Heap");
    if (at >= 0) {
      heap = number(report.substring(at), NATIVE_TOTAL);
    }
    return Math.max(0, number(report, NATIVE_TOTAL) - heap);
  }

  private static long number(String text, Pattern pattern) {
    var matcher = pattern.matcher(text);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
  }

  /** Nothing if the process is no JVM. */
  private static String jcmd(long pid, String command) throws Exception {
    var executable = ProcessHandle.of(pid).flatMap(process -> process.info().command()).orElse("");
    if (!executable.endsWith("java")) {
      return "";
    }
    var program = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    var process = new ProcessBuilder(program, "" + pid, command).redirectErrorStream(true).start();
    var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return output;
  }

  private static Map<String, Long> stats(InetSocketAddress server) throws IOException {
    var stats = new HashMap<String, Long>();
    try (var socket = new Socket(server.getAddress(), server.getPort())) {
      socket.getOutputStream().write("stats\r\n".getBytes(StandardCharsets.US_ASCII));
      var reader =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      for (var line = reader.readLine(); line != null && !line.equals("END"); ) {
        var words = line.split(" ", 3);
        if (words.length == 3 && words[2].matches("\\d{1,18}")) {
          stats.put(words[1], Long.parseLong(words[2]));
        }
        line = reader.readLine();
      }
    }
    return stats;
  }
}

package dev.evergreen.bench;

import dev.evergreen.bench.load.Cores;
import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * Proxies with caches, ours and others, each with one worker on core 0, and an origin on core 1.
 *
 * @param folder where they may keep what they need
 */
record ProxyServers(Path folder) {

  private static final int PROXY_CORE = 0;
  static final int LOAD_CORE = 1;
  private static final Duration LONGEST_START = Duration.ofMinutes(5);

  /** A server on a core, until it is closed. */
  record Server(String name, Process process, int port) implements AutoCloseable {

    /** Whether it says anything: some take connections before they can answer. */
    boolean answers() {
      try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.setSoTimeout(2000);
        var request = "GET /1024 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        return socket.getInputStream().read() >= 0;
      } catch (IOException e) {
        return false; // not yet
      }
    }

    /** Of the process and all that it has started, in microseconds. */
    double processorMicros() {
      var handle = process.toHandle();
      return Stream.concat(Stream.of(handle), handle.descendants())
          .mapToDouble(each -> each.info().totalCpuDuration().orElse(Duration.ZERO).toNanos() / 1e3)
          .sum();
    }

    @Override
    public void close() {
      process.descendants().forEach(ProcessHandle::destroy);
      process.destroy();
      try {
        process.waitFor();
      } catch (InterruptedException e) {
        process.destroyForcibly();
        Thread.currentThread().interrupt();
      }
    }
  }

  private Server start(
      String name, int core, int port, Map<String, String> environment, List<String> command)
      throws IOException {
    var builder =
        new ProcessBuilder(Cores.pinned(core, command))
            .redirectOutput(Redirect.DISCARD)
            .redirectError(folder.resolve(name + ".err").toFile());
    builder.environment().putAll(environment);
    var server = new Server(name, builder.start(), port);
    long limit = System.nanoTime() + LONGEST_START.toNanos();
    while (!server.answers()) {
      if (!server.process.isAlive() || System.nanoTime() - limit > 0) {
        server.close();
        throw new IOException(
            name + " did not start:\n" + Files.readString(folder.resolve(name + ".err")));
      }
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
    return server;
  }

  /** Whether a program is installed. */
  static boolean has(String program) {
    return Stream.concat(
            Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1)),
            Stream.of("/usr/sbin"))
        .anyMatch(each -> Files.isExecutable(Path.of(each, program)));
  }

  static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /**
   * Serves files of some sizes, named by these; the one of 1 KB under all names in /m/, too; and
   * what is in /p/ such that it may not be kept.
   */
  Server origin(List<Integer> sizes) throws IOException {
    var www = folder.resolve("www");
    var passed = Files.createDirectories(www.resolve("p"));
    for (int size : sizes) {
      Files.write(www.resolve(Integer.toString(size)), new byte[size]);
      Files.write(passed.resolve(Integer.toString(size)), new byte[size]);
    }
    return nginx(
        "origin",
        LOAD_CORE,
        """
        open_file_cache max=64; server { listen 127.0.0.1:%d; root %s;
        location / { add_header Cache-Control max-age=36000; }
        location /m/ { add_header Cache-Control max-age=36000; rewrite ^ /1024 break; }
        location /p/ { add_header Cache-Control no-store; } }
        """,
        www.toString());
  }

  Server nginx(int origin) throws IOException {
    return caching("nginx", origin, "");
  }

  /** nginx for clients by HTTP/2 without TLS. */
  Server nginxByHttp2(int origin) throws IOException {
    return caching("nginx two", origin, "http2");
  }

  private Server caching(String name, int origin, String version) throws IOException {
    return nginx(
        name,
        PROXY_CORE,
        """
        open_file_cache max=4096; upstream o { server 127.0.0.1:%s; keepalive 512; }
        server { listen 127.0.0.1:%%d %s; location / { proxy_pass http://o; proxy_cache z;
        proxy_http_version 1.1; proxy_set_header Connection ""; } }
        proxy_cache_path %%s keys_zone=z:64m use_temp_path=off;
        """
            .formatted(origin, version),
        folder.resolve("cache" + version).toString());
  }

  /** Its servers' text has the port, and then a path. */
  private Server nginx(String name, int core, String servers, String path) throws IOException {
    int port = freePort();
    var file = name.replaceAll("[^a-z0-9]", "");
    var user = isRoot() ? "user root;" : "";
    var configuration =
        Files.writeString(
            folder.resolve(file + ".conf"),
            """
            daemon off; pid %s; error_log %s; worker_processes 1; %s
            events { worker_connections 8192; }
            http { access_log off; sendfile on; keepalive_requests 1000000000;
            """
                    .formatted(folder.resolve(file + ".pid"), folder.resolve(file + ".log"), user)
                + servers.formatted(port, path)
                + " }\n");
    return start(
        name,
        core,
        port,
        Map.of(),
        List.of("nginx", "-p", folder.toString(), "-c", configuration.toString()));
  }

  private static boolean isRoot() {
    return System.getProperty("user.name").equals("root");
  }

  Server evergreen(int origin) throws IOException {
    int port = freePort();
    return start(
        "evergreen",
        PROXY_CORE,
        port,
        Map.of(),
        List.of(
            "./evergreen",
            "proxy",
            "--threads",
            "1",
            "--listen",
            "127.0.0.1:" + port,
            "--origin",
            "http://127.0.0.1:" + origin));
  }

  Server varnish(int origin) throws IOException {
    int port = freePort();
    return start(
        "varnish",
        PROXY_CORE,
        port,
        Map.of(),
        List.of(
            "varnishd",
            "-F",
            "-n",
            folder.resolve("varnish").toString(),
            "-a",
            "127.0.0.1:" + port,
            "-b",
            "127.0.0.1:" + origin,
            "-s",
            "malloc,256M",
            "-p",
            "thread_pools=1",
            "-p",
            "thread_pool_max=1200"));
  }

  Server haproxy(int origin) throws IOException {
    int port = freePort();
    var configuration =
        Files.writeString(
            folder.resolve("haproxy.cfg"),
            """
            global
             nbthread 1
            defaults
             mode http
             timeout connect 5s
             timeout client 60s
             timeout server 60s
            cache c
             total-max-size 256
             max-object-size 4000000
             max-age 3600
            listen l
             bind 127.0.0.1:%d
             http-request cache-use c
             http-response cache-store c
             server o 127.0.0.1:%d
            """
                .formatted(port, origin));
    return start(
        "haproxy",
        PROXY_CORE,
        port,
        Map.of(),
        List.of("haproxy", "-db", "-f", configuration.toString()));
  }

  /** Apache Traffic Server. */
  Server ats(int origin) throws IOException, InterruptedException {
    int port = freePort();
    var root = folder.resolve("ats");
    Files.createDirectories(root.resolve("x"));
    shell("cp -r \"$(traffic_layout info | awk '/^SYSC/{print $2}')\" " + root.resolve("etc"));
    Files.writeString(root.resolve("etc/remap.config"), "map / http://127.0.0.1:" + origin + "/\n");
    Files.writeString(root.resolve("etc/storage.config"), "x 256M\n");
    var layout = new ArrayList<>(List.of("prefix: " + root, "sysconfdir: etc"));
    for (var each : List.of("runtime", "localstate", "log", "cache", "data")) {
      layout.add(each + "dir: x");
    }
    Files.writeString(root.resolve("runroot.yaml"), String.join("\n", layout) + "\n");
    if (isRoot()) {
      shell("chown -R trafficserver " + root + " && chmod 755 " + folder);
    }
    return start(
        "ats",
        PROXY_CORE,
        port,
        Map.of(
            "TS_RUNROOT",
            root.toString(),
            "PROXY_CONFIG_HTTP_SERVER_PORTS",
            port + ":ip-in=127.0.0.1",
            "PROXY_CONFIG_EXEC_THREAD_AUTOCONFIG",
            "0",
            "PROXY_CONFIG_EXEC_THREAD_LIMIT",
            "1",
            "PROXY_CONFIG_LOG_LOGGING_ENABLED",
            "0"),
        List.of("traffic_server"));
  }

  private static void shell(String command) throws IOException, InterruptedException {
    var process = new ProcessBuilder("sh", "-c", command).redirectErrorStream(true).start();
    var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(command + ": " + said);
    }
  }
}

package dev.evergreen.bench;

import dev.evergreen.bench.load.Programs;
import dev.evergreen.bench.load.ServerProcess;
import dev.evergreen.bench.load.ServerProcess.Plan;
import dev.evergreen.bench.load.ServerProcess.Probe;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Proxies with caches, ours and others, each with one worker on core 0, and an origin on core 1.
 *
 * @param folder where they may keep what they need
 */
record ProxyServers(Path folder) {

  private static final int PROXY_CORE = 0;
  static final int LOAD_CORE = 1;

  /** A proxy of others, which may be started. */
  interface Other {
    ServerProcess start(int origin) throws IOException, InterruptedException;
  }

  /** Those that are installed. */
  List<Other> others() {
    var found = new ArrayList<Other>();
    addIf(found, "varnishd", this::varnish);
    addIf(found, "haproxy", origin -> haproxy(origin, "", Probe.HTTP));
    addIf(found, "traffic_server", this::ats);
    return found;
  }

  /** Those that are installed and speak HTTP/2 without TLS. */
  List<Other> othersByHttp2() {
    var found = new ArrayList<Other>();
    addIf(found, "varnishd", this::varnish);
    addIf(found, "haproxy", origin -> haproxy(origin, "proto h2", Probe.CONNECTION));
    return found;
  }

  private static void addIf(List<Other> others, String program, Other other) {
    if (Programs.has(program)) {
      others.add(other);
    }
  }

  private static ServerProcess start(Plan plan) throws IOException {
    return plan.on(PROXY_CORE).start();
  }

  private static Plan plan(String name, String... command) {
    return Plan.of(name, List.of(command), Probe.HTTP);
  }

  /**
   * Serves files of some sizes, named by these; the one of 1 KB under all names in /m/, too; and
   * what is in /p/ such that it may not be kept.
   */
  ServerProcess origin(List<Integer> sizes) throws IOException {
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

  ServerProcess nginx(int origin) throws IOException {
    return caching("nginx", origin, "", "");
  }

  /** nginx that keeps at most so many bytes on its disk. */
  ServerProcess nginx(int origin, long bytes) throws IOException {
    return caching("nginx", origin, "", "max_size=" + bytes);
  }

  /** nginx for clients by HTTP/2 without TLS. */
  ServerProcess nginxByHttp2(int origin) throws IOException {
    return caching("nginx two", origin, "http2", "");
  }

  private ServerProcess caching(String name, int origin, String version, String limit)
      throws IOException {
    return nginx(
        name,
        PROXY_CORE,
        """
        open_file_cache max=4096; upstream o { server 127.0.0.1:%s; keepalive 512; }
        server { listen 127.0.0.1:%%d %s; location / { proxy_pass http://o; proxy_cache z;
        proxy_http_version 1.1; proxy_set_header Connection ""; } }
        proxy_cache_path %%s keys_zone=z:64m use_temp_path=off %s;
        """
            .formatted(origin, version, limit),
        Files.createTempDirectory(folder, "cache").toString());
  }

  /** Its servers' text has the port, and then a path. */
  private ServerProcess nginx(String name, int core, String servers, String path)
      throws IOException {
    int port = Programs.freePort();
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
    return plan(name, "nginx", "-p", folder.toString(), "-c", configuration.toString())
        .at(port)
        .on(core)
        .start();
  }

  private static boolean isRoot() {
    return System.getProperty("user.name").equals("root");
  }

  ServerProcess evergreen(int origin) throws IOException {
    return evergreen(origin, List.of());
  }

  /** Evergreen that also keeps so many bytes on its disk, as nginx's cache is there. */
  ServerProcess evergreenWithDisk(int origin, long bytes) throws IOException {
    var disk = Files.createTempDirectory(folder, "evergreen");
    return evergreen(origin, List.of("--disk", bytes + "B", "--disk-dir", disk.toString()));
  }

  private ServerProcess evergreen(int origin, List<String> more) throws IOException {
    var command = new ArrayList<>(List.of("./evergreen", "proxy", "--threads", "1"));
    command.addAll(List.of("--listen", "127.0.0.1:" + ServerProcess.PORT));
    command.addAll(List.of("--origin", "http://127.0.0.1:" + origin));
    command.addAll(more);
    return start(Plan.of("evergreen", command, Probe.HTTP));
  }

  private ServerProcess varnish(int origin) throws IOException {
    return start(
        plan(
            "varnish",
            "varnishd",
            "-F",
            "-n",
            folder.resolve("varnish").toString(),
            "-a",
            "127.0.0.1:" + ServerProcess.PORT,
            "-b",
            "127.0.0.1:" + origin,
            "-s",
            "malloc,256M",
            "-p",
            "thread_pools=1",
            "-p",
            "thread_pool_max=1200",
            "-p",
            "feature=+http2"));
  }

  /** HAProxy; what stands behind its address may say which protocol it speaks. */
  private ServerProcess haproxy(int origin, String protocol, Probe probe) throws IOException {
    int port = Programs.freePort();
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
             bind 127.0.0.1:%d %s
             http-request cache-use c
             http-response cache-store c
             server o 127.0.0.1:%d
            """
                .formatted(port, protocol, origin));
    var command = List.of("haproxy", "-db", "-f", configuration.toString());
    return start(Plan.of("haproxy", command, probe).at(port));
  }

  /** Apache Traffic Server. */
  private ServerProcess ats(int origin) throws IOException, InterruptedException {
    int port = Programs.freePort();
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
        plan("ats", "traffic_server")
            .at(port)
            .with(
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
                    "0")));
  }

  private static void shell(String command) throws IOException, InterruptedException {
    Programs.run(List.of("sh", "-c", command));
  }
}

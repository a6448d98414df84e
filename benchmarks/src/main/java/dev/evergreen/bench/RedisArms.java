package dev.evergreen.bench;

import dev.evergreen.bench.load.Programs;
import dev.evergreen.bench.load.ServerProcess;
import dev.evergreen.bench.load.ServerProcess.Plan;
import dev.evergreen.bench.load.ServerProcess.Probe;
import dev.evergreen.provenance.StoredTrace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A Redis, and what may stand before it: the recording shim in several ways, HAProxy, twemproxy.
 * All but the Redis are paused unless it is their turn, so that they take no processor from others.
 */
final class RedisArms implements AutoCloseable {
  private static final Duration LONGEST_DRAIN = Duration.ofMinutes(10);

  private final Path folder;
  private final ServerProcess redis;
  private final Path socket;
  private final List<Arm> arms = new ArrayList<>();

  /**
   * A way to the Redis.
   *
   * @param name as tables have it
   * @param server what stands between, or null for nothing
   * @param trace where it records, or null if it does not
   */
  record Arm(String name, @Nullable ServerProcess server, int port, @Nullable Path trace) {

    /**
     * Waits until all that was recorded is in the database.
     *
     * @return how many seconds that took
     */
    double drain() throws IOException {
      if (trace == null) {
        return 0;
      }
      long begin = System.nanoTime();
      try (var stored = StoredTrace.open(trace.toString(), LONGEST_DRAIN)) {
        if (!stored.awaitLoaded(LONGEST_DRAIN).whole()) {
          throw new IOException("what was recorded in " + trace + " is not loaded");
        }
      }
      return (System.nanoTime() - begin) / 1e9;
    }

    void resume() throws IOException, InterruptedException {
      if (server != null) {
        server.resume();
      }
    }

    void pause() throws IOException, InterruptedException {
      if (server != null) {
        server.pause();
      }
    }
  }

  private RedisArms(Path folder, ServerProcess redis) {
    this.folder = folder;
    this.redis = redis;
    this.socket = folder.resolve("redis.sock");
  }

  /** Starts the Redis alone. */
  static RedisArms start(Path folder) throws IOException {
    var redis =
        plan(
                "Redis",
                "redis-server",
                "--bind",
                "127.0.0.1",
                "--port",
                ServerProcess.PORT,
                "--unixsocket",
                folder.resolve("redis.sock").toString(),
                "--save",
                "",
                "--dir",
                folder.toString())
            .start();
    return new RedisArms(folder, redis);
  }

  private static Plan plan(String name, String... command) {
    return Plan.of(name, List.of(command), Probe.CONNECTION);
  }

  /** Nothing between. */
  Arm bare() {
    return add(new Arm("bare", null, redis.port(), null));
  }

  /**
   * The shim.
   *
   * @param durability how it records, or null if it does not
   * @param unix whether it reaches the Redis by a UNIX socket
   */
  Arm shim(String name, @Nullable String durability, boolean unix)
      throws IOException, InterruptedException {
    var command =
        new ArrayList<>(
            List.of(
                "./evergreen",
                "shim",
                "redis",
                "--listen",
                "127.0.0.1:" + ServerProcess.PORT,
                "--upstream",
                unix ? "unix:" + socket : "127.0.0.1:" + redis.port()));
    var trace = durability == null ? null : folder.resolve("trace-" + name.replace(' ', '-'));
    if (trace == null) {
      command.add("--no-record");
    } else {
      command.addAll(List.of("--trace", trace.toString(), "--durability", durability));
    }
    return paused(Plan.of(name, command, Probe.CONNECTION), trace);
  }

  /** HAProxy as a relay of bytes. */
  Arm haproxy() throws IOException, InterruptedException {
    int port = Programs.freePort();
    var file =
        Files.writeString(
            folder.resolve("haproxy.cfg"),
            """
            global
              maxconn 4096
              nbthread 1
            defaults
              mode tcp
              timeout connect 5s
              timeout client 1h
              timeout server 1h
            listen redis
              bind 127.0.0.1:%d
              server redis 127.0.0.1:%d
            """
                .formatted(port, redis.port()));
    return paused(plan("HAProxy", "haproxy", "-db", "-f", file.toString()).at(port), null);
  }

  /** Twemproxy, which also shares one upstream among all clients. */
  Arm twemproxy() throws IOException, InterruptedException {
    int port = Programs.freePort();
    int statistics = Programs.freePort();
    var file =
        Files.writeString(
            folder.resolve("nutcracker.yml"),
            """
            redis:
              listen: 127.0.0.1:%d
              redis: true
              distribution: ketama
              timeout: 60000
              servers:
               - 127.0.0.1:%d:1
            """
                .formatted(port, redis.port()));
    var twemproxy =
        plan(
            "twemproxy",
            "nutcracker",
            "-c",
            file.toString(),
            "-s",
            Integer.toString(statistics),
            "-a",
            "127.0.0.1",
            "-p",
            folder.resolve("nutcracker.pid").toString(),
            "-o",
            folder.resolve("nutcracker.log").toString());
    return paused(twemproxy.at(port), null);
  }

  private Arm paused(Plan plan, @Nullable Path trace) throws IOException, InterruptedException {
    var server = plan.start();
    var arm = add(new Arm(plan.name(), server, server.port(), trace));
    arm.pause();
    return arm;
  }

  private Arm add(Arm arm) {
    arms.add(arm);
    return arm;
  }

  /** Puts the Redis on one core and all else on another; or all anywhere. */
  void place(boolean pinned) throws IOException, InterruptedException {
    var all = "0-" + (Runtime.getRuntime().availableProcessors() - 1);
    redis.moveTo(pinned ? "1" : all);
    for (var arm : arms) {
      if (arm.server() != null) {
        arm.server().moveTo(pinned ? "0" : all);
      }
    }
  }

  /** Empties the Redis. */
  void flush() throws IOException, InterruptedException {
    Programs.run(List.of("redis-cli", "-p", Integer.toString(redis.port()), "FLUSHALL"));
  }

  /** The one of that name. */
  Optional<Arm> named(String name) {
    return arms.stream().filter(arm -> arm.name().equals(name)).findFirst();
  }

  List<Arm> all() {
    return List.copyOf(arms);
  }

  @Override
  public void close() {
    arms.reversed().stream()
        .map(Arm::server)
        .flatMap(server -> Optional.ofNullable(server).stream())
        .forEach(ServerProcess::close);
    redis.close();
  }
}

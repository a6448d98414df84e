package dev.evergreen.server;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.kernel.Account;
import dev.evergreen.memcached.MemcachedServer;
import dev.evergreen.memcached.MemcachedSettings;
import dev.evergreen.settings.Signals;
import dev.evergreen.telemetry.FibersMetrics;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import dev.evergreen.tls.ServerTls.Clients;
import dev.evergreen.tls.ServerTls.Version;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The memcached server on the command line, with memcached's flags. Those that mean nothing here
 * are accepted, so that what starts memcached can start this, and named once.
 */
@Command(
    name = "memcached",
    description = "A server of memcached's protocol, in the foreground. SIGINT and SIGTERM end it.",
    version = MemcachedCommand.VERSION,
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class MemcachedCommand implements Callable<Integer> {
  /** What all that asks for a version is told, here and by the protocols. */
  static final String VERSION = "memcached " + MemcachedServer.PROTOCOL_VERSION;

  /** Before an address. */
  private static final String PLAIN = "notls:";

  private static final int MIB = 1 << 20;
  private static final int LEAST_ITEM = 1024;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-p", "--port"},
      paramLabel = "N",
      defaultValue = "11211",
      description = "TCP port; 0 or -1 for any that is free. Default: ${DEFAULT-VALUE}.")
  private int port;

  @Option(
      names = {"-U", "--udp-port"},
      paramLabel = "N",
      defaultValue = "0",
      description = "Must be 0: there is no UDP.")
  private int udpPort;

  @Option(
      names = {"-s", "--unix-socket"},
      paramLabel = "FILE",
      description = "Listens at a UNIX socket, and at no port.")
  private @Nullable Path unixSocket;

  @Option(
      names = {"-a", "--unix-mask"},
      paramLabel = "MASK",
      defaultValue = "0700",
      description = "Access to the UNIX socket, in octal. Default: ${DEFAULT-VALUE}.")
  private String unixMask = "0700";

  @Option(
      names = {"-l", "--listen"},
      paramLabel = "ADDR",
      split = ",",
      defaultValue = "127.0.0.1",
      description =
          "Addresses to listen at, each HOST or HOST:PORT, or [HOST]:PORT for IPv6; with notls: before"
              + " it one that speaks no TLS, beside -Z. Default: ${DEFAULT-VALUE}, unlike memcached's, which is all.")
  private List<String> addresses = List.of();

  @Option(
      names = {"-m", "--memory-limit"},
      paramLabel = "MIB",
      defaultValue = "64",
      description = "Memory for items. Default: ${DEFAULT-VALUE}.")
  private int memory;

  @Option(
      names = {"-M", "--disable-evictions"},
      description = "Refuses new items when the memory is full.")
  private boolean noEvictions;

  @Option(
      names = {"-I", "--max-item-size"},
      paramLabel = "SIZE",
      description =
          "The largest item, 1k to 1024m. Default: 1m, or half of the memory if that is less.")
  private @Nullable String itemSize;

  @Option(
      names = {"-c", "--conn-limit"},
      paramLabel = "N",
      defaultValue = "1024",
      description = "The most connections at a time. Default: ${DEFAULT-VALUE}.")
  private int connections;

  @Option(
      names = {"-t", "--threads"},
      paramLabel = "N",
      description = "Processors for fibers. Default: the cores, at most 4.")
  private @Nullable Integer threads;

  @Option(
      names = {"-R", "--max-reqs-per-event"},
      paramLabel = "N",
      defaultValue = "250",
      description =
          "Requests of a connection in a row while others wait. Default: ${DEFAULT-VALUE}.")
  private int requests;

  @Option(
      names = {"-b", "--listen-backlog"},
      paramLabel = "N",
      defaultValue = "1024",
      description = "Connections that may wait to be accepted. Default: ${DEFAULT-VALUE}.")
  private int backlog;

  @Option(
      names = {"-F", "--disable-flush-all"},
      description = "Refuses flush_all.")
  private boolean noFlush;

  @Option(
      names = {"-X", "--disable-dumping"},
      description = "Refuses to list keys.")
  private boolean noDump;

  @Option(
      names = {"-W", "--disable-watch"},
      description = "Refuses watch.")
  private boolean noWatch;

  @Option(
      names = {"-A", "--enable-shutdown"},
      description = "Allows the command shutdown.")
  private boolean shutdown;

  @Option(
      names = {"-Y", "--auth-file"},
      paramLabel = "FILE",
      description = "Asks for a user and password, of lines USER:PASSWORD in this file.")
  private @Nullable Path authFile;

  @Option(
      names = "-D",
      paramLabel = "CHAR",
      description = "Ends a key's prefix in 'stats detail', which is on then. Default: ':'.")
  private @Nullable Character delimiter;

  @Option(
      names = {"-P", "--pidfile"},
      paramLabel = "FILE",
      description = "Writes the process id to this file.")
  private @Nullable Path pidFile;

  @Option(
      names = {"-v", "--verbose"},
      description =
          "-vv logs connections, commands and the beginnings of replies; without effect alone.")
  private boolean[] verbosity = {};

  @Option(
      names = {"-B", "--protocol"},
      paramLabel = "NAME",
      defaultValue = "auto",
      description = "auto, ascii or binary. Default: ${DEFAULT-VALUE}.")
  private String protocol = "auto";

  @Option(
      names = "--write-timeout",
      paramLabel = "TIME",
      converter = Quantities.Time.class,
      defaultValue = "30s",
      description =
          "Closes a client that takes nothing of a reply for so long. Default: ${DEFAULT-VALUE}.")
  private Duration writeTimeout = Duration.ZERO;

  @Option(
      names = "--least-rate",
      paramLabel = "SIZE",
      converter = Quantities.Size.class,
      defaultValue = "16KiB",
      description =
          "What a client sends of a large value, or takes of a reply, in a second at least."
              + " Default: ${DEFAULT-VALUE}.")
  private long leastRate;

  @Option(
      names = "--grace",
      paramLabel = "TIME",
      converter = Quantities.Time.class,
      defaultValue = "1s",
      description =
          "For how long the slowest client is safe when others need what is kept for it."
              + " Default: ${DEFAULT-VALUE}.")
  private Duration grace = Duration.ZERO;

  @Option(
      names = "--fibers",
      paramLabel = "MODE",
      description =
          "processors (ours) or jdk (the JDK's scheduler and sockets, slower)."
              + " Default: what is possible.")
  private Fibers.@Nullable Mode fibers;

  @Option(
      names = "--io",
      paramLabel = "WAY",
      description =
          "io_uring (the replies of a processor leave together) or epoll (each by itself)."
              + " Default: io_uring where the system has it.")
  private Fibers.@Nullable Io io;

  @Option(
      names = "--no-helping",
      description = "Processors do not help each other; to see what it costs.")
  private boolean noHelping;

  @Option(
      names = "--metrics",
      paramLabel = "PORT",
      description =
          "Serves metrics of the processors for Prometheus at http://127.0.0.1:PORT/metrics.")
  private @Nullable Integer metricsPort;

  @Option(
      names = {"-o", "--extended"},
      paramLabel = "NAME[=VALUE]",
      split = ",",
      description =
          "idle_timeout=SECONDS closes idle connections. For -Z: ssl_chain_cert=FILE, ssl_key=FILE,"
              + " ssl_verify_mode=0-3, ssl_ca_cert=FILE, ssl_min_version=2-3. Others have no effect.")
  private List<String> extended = List.of();

  @Option(
      names = {"-Z", "--enable-ssl"},
      description = "Speaks TLS, with the files of -o ssl_chain_cert and ssl_key.")
  private boolean tls;

  @Option(
      names = {"-S", "--enable-sasl"},
      hidden = true)
  private boolean sasl;

  @Option(
      names = {"-d", "--daemon", "-r", "--enable-coredumps", "-k", "--lock-memory", "-L"},
      description = "-d, -r, -k, -L, -f, -n, -N: accepted, without effect.")
  private boolean[] ignoredSwitches = {};

  @Option(
      names = {"-C", "--disable-cas"},
      description = "Items have no CAS numbers: all are 0, and none is ever equal.")
  private boolean noCas;

  @Option(
      names = {"-u", "--user"},
      paramLabel = "NAME",
      description = "Started by root, goes on as this user once it listens.")
  private @Nullable String user;

  @Option(names = "--enable-largepages", hidden = true)
  private boolean[] moreIgnoredSwitches = {};

  @Option(
      names = {"-f", "--slab-growth-factor", "-n", "--slab-min-size", "-N", "--napi-ids"},
      paramLabel = "VALUE",
      hidden = true)
  private List<String> ignoredValues = List.of();

  /** Made by picocli. */
  MemcachedCommand() {}

  /** Runs the server alone, without the command around it. */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    return configured(new CommandLine(new MemcachedCommand()))
        .setCaseInsensitiveEnumValuesAllowed(true);
  }

  /** Adds what other options stand for; of one that is repeated the last counts, as ever. */
  static CommandLine configured(CommandLine command) {
    return ConfiguredOptions.addTo(command).setOverwrittenOptionsAllowed(true);
  }

  @Override
  public Integer call() throws InterruptedException {
    var settings = settings();
    try (var server = MemcachedServer.start(settings);
        var metrics =
            metricsPort == null
                ? null
                : MetricsEndpoint.start(metricsPort, List.of(FibersMetrics.of(server::fibers)))) {
      tellWhereItIs(server);
      // From here on nothing fails: the hook ends the process as one that was ended in order.
      closeAtSignals(server);
      Signals.on("HUP", () -> reloadAccounts(server));
      // memcached's signal for an end in order; the JVM would be gone at once.
      Signals.on("USR1", () -> System.exit(ExitCode.OK));
      spec.commandLine().getOut().println("memcached listens at " + show(server.addresses()));
      if (metrics != null) {
        spec.commandLine().getOut().println("metrics at " + metrics.url());
      }
      spec.commandLine().getOut().flush();
      server.awaitEnd();
      return ExitCode.OK;
    } catch (IOException | IllegalArgumentException e) {
      spec.commandLine().getErr().println("memcached: " + Reasons.of(e, "-p, -l, -s or --metrics"));
      return ExitCode.SOFTWARE;
    }
  }

  /** In files, and as the user whose they are to be; none stays of a server that does not start. */
  private void tellWhereItIs(MemcachedServer server) throws IOException {
    boolean done = false;
    try {
      if (pidFile != null) {
        Files.writeString(pidFile, ProcessHandle.current().pid() + "\n");
      }
      PortFile.write(server.addresses());
      if (user != null && Account.isRoot()) {
        becomeUser(user);
      }
      done = true;
    } finally {
      if (!done) {
        deletePidFile();
      }
    }
  }

  /** What root has opened stays open; the UNIX socket is to be the user's. */
  private void becomeUser(String name) throws IOException {
    var account = Account.of(name);
    for (var file : new @Nullable Path[] {unixSocket, pidFile}) {
      if (file != null) {
        account.own(file);
      }
    }
    account.become();
  }

  private void reloadAccounts(MemcachedServer server) {
    try {
      server.reloadAccounts();
    } catch (IOException e) {
      spec.commandLine().getErr().println("memcached: the former accounts stay: " + e.getMessage());
    }
  }

  /** A signal begins the end of the JVM, whose exit code would tell of the signal. */
  private void closeAtSignals(MemcachedServer server) {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  server.close();
                  deletePidFile();
                  Runtime.getRuntime().halt(ExitCode.OK);
                }));
  }

  private void deletePidFile() {
    if (pidFile != null) {
      try {
        Files.deleteIfExists(pidFile);
      } catch (IOException e) {
        spec.commandLine().getErr().println("memcached: " + pidFile + " stays: " + e.getMessage());
      }
    }
  }

  private static String show(List<SocketAddress> addresses) {
    return String.join(
        ", ",
        addresses.stream()
            .map(
                address ->
                    address instanceof InetSocketAddress inet
                        ? inet.getAddress().getHostAddress() + ":" + inet.getPort()
                        : address.toString())
            .toList());
  }

  private MemcachedSettings settings() {
    check(udpPort == 0, "-U must be 0: this server does not speak UDP");
    check(!sasl, "-S: this server does not speak SASL; use -Y");
    check(
        List.of("auto", "ascii", "binary").contains(protocol),
        "-B must be auto, ascii or binary, but is " + protocol);
    check(memory > 0, "-m must be positive, but is " + memory);
    check(
        (long) memory * MIB <= Quantities.memoryHere(),
        Quantities.beyondMemory("-m", (long) memory * MIB));
    check(connections > 0, "-c must be positive, but is " + connections);
    check(requests > 0, "-R must be positive, but is " + requests);
    check(backlog > 0, "-b must be positive, but is " + backlog);
    check(threads == null || threads > 0, "-t must be positive, but is " + threads);
    check(writeTimeout.isPositive(), "--write-timeout must be positive");
    check(leastRate > 0, "--least-rate must be positive");
    check(
        metricsPort == null || (metricsPort >= 0 && metricsPort <= 0xFFFF),
        "--metrics must be a port");
    var settings =
        MemcachedSettings.DEFAULT
            .withMemory((long) memory * MIB)
            .withItemLimit(itemLimit())
            .withEviction(!noEvictions)
            .withCas(!noCas)
            .withConnections(connections)
            .withRequestsPerTurn(requests)
            .withBacklog(backlog)
            .withFlushes(!noFlush)
            .withDumps(!noDump)
            .withWatches(!noWatch)
            .withShutdown(shutdown)
            .withVerbosity(verbosity.length)
            .withWriteTimeout(writeTimeout)
            .withLeastRate(leastRate)
            .withGrace(grace)
            .withProtocols(!protocol.equals("binary"), !protocol.equals("ascii"))
            .withHelping(!noHelping);
    if (threads != null) {
      settings = settings.withProcessors(threads);
    }
    if (fibers != null) {
      settings = settings.withMode(fibers);
    }
    if (io != null) {
      settings = settings.withIo(io);
    }
    int mask = octal(unixMask);
    if (unixSocket != null) {
      settings = settings.withUnixSocket(unixSocket, mask);
    } else {
      check(tls || plain().isEmpty(), "-l notls:ADDR needs -Z");
      settings =
          settings
              .withAddresses(
                  addresses.stream()
                      .filter(each -> !each.startsWith(PLAIN))
                      .flatMap(this::addresses)
                      .toList())
              .withPlainAddresses(plain().stream().flatMap(this::addresses).toList());
    }
    if (authFile != null) {
      settings = settings.withAuthFile(authFile);
    }
    if (delimiter != null) {
      settings = settings.withDetails(delimiter, true);
    }
    return extended(settings);
  }

  private void check(boolean good, String complaint) {
    if (!good) {
      throw new ParameterException(spec.commandLine(), complaint);
    }
  }

  /** A size such as 512k; the default is cut to what the memory allows. */
  private int itemLimit() {
    if (itemSize == null) {
      return (int) Math.min(MIB, (long) memory * MIB / 2);
    }
    var number = itemSize.toLowerCase(Locale.ROOT);
    check(
        number.matches("[0-9]{1,9}[km]?"),
        "-I must be a size from 1k to 1024m, such as 512k, but is " + itemSize);
    long unit = number.endsWith("k") ? 1024 : number.endsWith("m") ? MIB : 1;
    long size = Long.parseLong(number.replaceAll("[km]", "")) * unit;
    check(
        size >= LEAST_ITEM && size <= 1024L * MIB,
        "-I must be between 1k and 1024m, but is " + itemSize);
    return (int) size;
  }

  private int octal(String mask) {
    check(mask.matches("[0-7]{1,4}"), "-a must be octal, such as 0700, but is " + mask);
    return Integer.parseInt(mask, 8);
  }

  /** Those that speak no TLS, without the word that says so. */
  private List<String> plain() {
    return addresses.stream()
        .filter(each -> each.startsWith(PLAIN))
        .map(each -> each.substring(PLAIN.length()))
        .toList();
  }

  private Stream<InetSocketAddress> addresses(String text) {
    int colon = text.lastIndexOf(':');
    boolean hasPort = colon > 0 && (text.indexOf(':') == colon || text.charAt(colon - 1) == ']');
    var host = (hasPort ? text.substring(0, colon) : text).replaceAll("[\\[\\]]", "");
    // memcached's word for any port that is free is -1.
    var number = hasPort ? text.substring(colon + 1) : "" + (port == -1 ? 0 : port);
    check(
        number.matches("[0-9]{1,5}") && Integer.parseInt(number) <= 0xFFFF,
        "a port must be between 0 and 65535, but is " + number);
    try {
      return here(InetAddress.getAllByName(host)).stream()
          .map(address -> new InetSocketAddress(address, Integer.parseInt(number)));
    } catch (IOException e) {
      throw new ParameterException(spec.commandLine(), "-l: can't find the address " + host, e);
    }
  }

  /**
   * The addresses of a name that this machine has: a client may try any of them, and only that. All
   * if it has none, so that the first one is complained of.
   */
  static List<InetAddress> here(InetAddress... addresses) throws SocketException {
    var here = new ArrayList<InetAddress>();
    for (var address : addresses) {
      // All of 127.0.0.0/8 is here, whichever of them an interface lists.
      boolean always = address instanceof Inet4Address && address.isLoopbackAddress();
      if (always
          || address.isAnyLocalAddress()
          || NetworkInterface.getByInetAddress(address) != null) {
        here.add(address);
      }
    }
    return here.isEmpty() ? List.of(addresses) : here;
  }

  private MemcachedSettings extended(MemcachedSettings given) {
    var settings = given;
    var ignored = new ArrayList<String>();
    var secure = new HashMap<String, String>();
    for (var option : extended) {
      var value = option.substring(option.indexOf('=') + 1);
      if (option.startsWith("idle_timeout=")) {
        check(
            value.matches("[0-9]{1,9}"),
            "-o idle_timeout must be a number of seconds, but is " + value);
        settings = settings.withIdleTimeout(Duration.ofSeconds(Long.parseLong(value)));
      } else if (tls && option.matches("ssl_(chain_cert|key|ca_cert|verify_mode|min_version)=.+")) {
        secure.put(option.substring(0, option.indexOf('=')), value);
      } else {
        ignored.add("-o " + option);
      }
    }
    if (tls) {
      settings = settings.withTls(tls(secure));
    }
    if (ignoredSwitches.length + moreIgnoredSwitches.length + ignoredValues.size() > 0) {
      ignored.add("-d, -r, -k, -L, -f, -n, -N");
    }
    if (!ignored.isEmpty()) {
      var names = String.join("; ", ignored);
      spec.commandLine().getErr().println("memcached: without effect here: " + names);
    }
    return settings;
  }

  private ServerTls.Settings tls(Map<String, String> options) {
    var certificates = options.getOrDefault("ssl_chain_cert", "");
    check(!certificates.isEmpty(), "-Z needs -o ssl_chain_cert=FILE");
    var key = options.getOrDefault("ssl_key", certificates);
    var authority = options.get("ssl_ca_cert");
    var mode = options.getOrDefault("ssl_verify_mode", "0");
    check(mode.matches("[0-3]"), "-o ssl_verify_mode must be 0, 1, 2 or 3, but is " + mode);
    check(
        mode.equals("0") || authority != null,
        "-o ssl_verify_mode=" + mode + " needs ssl_ca_cert=FILE");
    var least = options.getOrDefault("ssl_min_version", "2");
    check(
        least.matches("[23]"),
        "-o ssl_min_version must be 2 (TLS 1.2) or 3 (TLS 1.3), but is " + least);
    var files =
        new PemFiles(
            Path.of(key), Path.of(certificates), authority == null ? null : Path.of(authority));
    return ServerTls.Settings.of(files)
        .withClients(
            switch (mode) {
              case "0" -> Clients.ANONYMOUS;
              case "1" -> Clients.WANTED;
              default -> Clients.REQUIRED;
            })
        .withLeast(least.equals("2") ? Version.TLS_1_2 : Version.TLS_1_3);
  }
}

package dev.evergreen.server;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.http.Origin;
import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.http.UpstreamVersion;
import dev.evergreen.proxy.ForwardRules;
import dev.evergreen.proxy.LogFormat;
import dev.evergreen.proxy.ProxySettings;
import dev.evergreen.proxy.Trust;
import dev.evergreen.proxy.rules.CacheRules;
import dev.evergreen.proxy.storage.StorageOptions;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** All that can be set of a proxy, on the command line and by the same words in its file. */
@Command(sortOptions = false)
final class ProxyOptions {
  private static final String TOKEN_OR_NONE = "[A-Za-z0-9!#$%&'*+.^_`|~-]*";

  @Option(
      names = "--listen",
      paramLabel = "ADDR",
      split = ",",
      defaultValue = "127.0.0.1:8080",
      description =
          "Addresses to listen at, each HOST:PORT or [HOST]:PORT, or :PORT for all that this machine"
              + " has; port 0 for any that is free. Default: ${DEFAULT-VALUE}.")
  private List<String> listen = List.of();

  @Option(
      names = "--origin",
      paramLabel = "URL",
      split = ",",
      description =
          "Where what is served comes from, http://HOST[:PORT] or https://HOST[:PORT]; several that"
              + " have the same.")
  private List<String> origins = List.of();

  @Option(
      names = "--origin-http",
      paramLabel = "VERSION",
      defaultValue = "auto",
      description =
          "The version of HTTP that is spoken with origins: 1.1, 2 (without TLS by prior"
              + " knowledge), or auto: what ALPN chooses. Default: ${DEFAULT-VALUE}.")
  private String originHttp = "auto";

  @Option(
      names = "--forward",
      description =
          "Is a forward proxy, without --origin: asks whatever origin a client names, and makes"
              + " tunnels (CONNECT).")
  private boolean forward;

  @Option(
      names = "--forward-for",
      paramLabel = "NET",
      split = ",",
      description =
          "Whose forward proxy it is, such as 10.0.0.0/8. Default: this machine and private"
              + " networks.")
  private List<String> forwardFor = List.of();

  @Option(
      names = "--forward-to-itself",
      description =
          "Lets clients on other machines, too, ask for what is on this machine, or has an address"
              + " of its link only.")
  private boolean forwardToItself;

  @Option(
      names = "--tunnel-port",
      paramLabel = "PORT",
      split = ",",
      defaultValue = "443",
      description = "Ports to which tunnels are made. Default: ${DEFAULT-VALUE}.")
  private Set<Integer> tunnelPorts = Set.of();

  @Option(
      names = "--share-port",
      description =
          "Lets a new process with the same option take the addresses over, before this one is"
              + " ended.")
  private boolean sharePort;

  @Option(
      names = "--memory",
      paramLabel = "SIZE",
      converter = Quantities.Size.class,
      defaultValue = "256MiB",
      description =
          "Memory for responses, such as 512MiB or 4GiB; a fifth of it for those that are being"
              + " received. Default: ${DEFAULT-VALUE}.")
  private long memory;

  @Option(
      names = "--disk",
      paramLabel = "SIZE",
      converter = Quantities.Size.class,
      description = "Disk for responses, such as 100GiB; needs --disk-dir.")
  private @Nullable Long disk;

  @Option(names = "--disk-dir", paramLabel = "DIR", description = "The folder for them.")
  private @Nullable Path diskDirectory;

  @Option(
      names = "--admin",
      paramLabel = "ADDR",
      description =
          "Where operators are answered, on the loopback interface, such as 127.0.0.1:9080.")
  private @Nullable String admin;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = "Speaks TLS, with this certificate chain (PEM); needs --tls-key.")
  private @Nullable Path certificate;

  @Option(names = "--tls-key", paramLabel = "FILE", description = "The key of the certificate.")
  private @Nullable Path key;

  @Option(
      names = "--origin-ca",
      paramLabel = "FILE",
      description = "Authorities that origins' certificates must be from. Default: the JDK's.")
  private @Nullable Path originAuthorities;

  @Option(
      names = "--host",
      paramLabel = "WHOSE",
      defaultValue = "client",
      description =
          "The Host that origins are told: the client's, or their own (origin)."
              + " Default: ${DEFAULT-VALUE}.")
  private String host = "client";

  @Option(
      names = "--no-forwarded",
      description = "Tells origins nothing of the client by Forwarded and X-Forwarded-For.")
  private boolean noForwarded;

  @Option(
      names = "--trust",
      paramLabel = "NET",
      split = ",",
      description =
          "Proxies before this one whose X-Forwarded-For and -Proto count, such as 10.0.0.0/8.")
  private List<String> trusted = List.of();

  @Option(
      names = "--proxy-protocol",
      description = "Connections of those that are trusted begin with the PROXY protocol.")
  private boolean proxyProtocol;

  @Option(
      names = "--target",
      paramLabel = "NAME",
      split = ",",
      defaultValue = "CDN-Cache-Control",
      description =
          "Fields that replace Cache-Control for this cache, the most important first."
              + " Default: ${DEFAULT-VALUE}.")
  private List<String> targets = List.of();

  @Option(
      names = "--tag-field",
      paramLabel = "NAME",
      split = ",",
      defaultValue = "Cache-Tag,Surrogate-Key",
      description =
          "Fields that list tags by which responses are purged. Default: ${DEFAULT-VALUE}.")
  private List<String> tagFields = List.of();

  @Option(
      names = "--stale-if-error",
      paramLabel = "TIME",
      converter = Quantities.Time.class,
      defaultValue = "0s",
      description =
          "For how long what does not say is used when the origin fails. Default:"
              + " ${DEFAULT-VALUE}.")
  private Duration staleIfError = Duration.ZERO;

  @Option(
      names = "--negative",
      paramLabel = "STATUS=TIME",
      split = ",",
      converter = {Quantities.Status.class, Quantities.Time.class},
      description =
          "For how long a failure is kept whose origin does not say, such as 404=10s,410=1h: of"
              + " 404, 405, 410, 414 and 501. Default: only as long as its Last-Modified tells.")
  private Map<Integer, Duration> negative = Map.of();

  @Option(
      names = "--name",
      paramLabel = "TOKEN",
      defaultValue = "evergreen",
      description = "Its name in Via and Cache-Status. Default: ${DEFAULT-VALUE}.")
  private String name = "evergreen";

  @Option(
      names = "--check",
      paramLabel = "PATH",
      description = "Asks each origin for this path, to know whether it is well.")
  private @Nullable String checkPath;

  @Option(
      names = "--check-every",
      paramLabel = "TIME",
      converter = Quantities.Time.class,
      defaultValue = "5s",
      description = "How often. Default: ${DEFAULT-VALUE}.")
  private Duration checkEvery = Duration.ZERO;

  @Option(
      names = "--access-log",
      paramLabel = "FILE",
      description = "Writes a line for each request; - for the standard output.")
  private @Nullable String accessLog;

  @Option(
      names = "--log-format",
      paramLabel = "FORMAT",
      defaultValue = "combined",
      description = "common, combined or json. Default: ${DEFAULT-VALUE}.")
  private String logFormat = "combined";

  @Option(
      names = "--connections",
      paramLabel = "N",
      defaultValue = "16384",
      description = "The most connections of clients at a time. Default: ${DEFAULT-VALUE}.")
  private int connections;

  @Option(
      names = "--origin-connections",
      paramLabel = "N",
      defaultValue = "4096",
      description = "The most connections to one origin at a time. Default: ${DEFAULT-VALUE}.")
  private int originConnections;

  @Option(
      names = "--threads",
      paramLabel = "N",
      description = "Processors for fibers. Default: the cores.")
  private @Nullable Integer threads;

  @Option(
      names = "--fibers",
      paramLabel = "MODE",
      description = "processors (ours) or jdk. Default: what is possible.")
  private Fibers.@Nullable Mode fibers;

  @Option(
      names = "--grace",
      paramLabel = "TIME",
      converter = Quantities.Time.class,
      defaultValue = "30s",
      description = "How long requests may go on after SIGTERM. Default: ${DEFAULT-VALUE}.")
  private Duration grace = Duration.ZERO;

  /** Made by picocli. */
  ProxyOptions() {}

  /**
   * What they say.
   *
   * @throws IllegalArgumentException if that makes no sense; the message says why
   * @throws IOException if a file cannot be read
   */
  ProxySettings settings() throws IOException, GeneralSecurityException {
    check(
        forward || !origins.isEmpty(),
        "--origin is missing, such as --origin http://127.0.0.1:3000");
    check(!forward || origins.isEmpty(), "--forward and --origin exclude each other");
    check(connections > 0, "--connections must be positive, but is " + connections);
    check(
        originConnections > 0,
        "--origin-connections must be positive, but is " + originConnections);
    check(threads == null || threads > 0, "--threads must be positive, but is " + threads);
    check(
        tunnelPorts.stream().allMatch(port -> port > 0 && port <= 0xFFFF),
        "--tunnel-port must be 1 to 65535");
    check(checkEvery.isPositive(), "--check-every must be positive");
    check(
        checkPath == null || checkPath.matches("/[!-~]*"),
        "--check must be a path, such as /health, but is " + checkPath);
    Stream.of(targets, tagFields)
        .flatMap(List::stream)
        .forEach(each -> check(each.matches(TOKEN_OR_NONE), "a field is a token, but is " + each));
    check(name.matches("[A-Za-z][A-Za-z0-9._-]*"), "--name must be a token, but is " + name);
    check(
        host.equals("client") || host.equals("origin"),
        "--host must be client or origin, but is " + host);
    check(!proxyProtocol || !trusted.isEmpty(), "--proxy-protocol needs --trust");
    var rules = CacheRules.DEFAULT;
    var settings =
        ProxySettings.DEFAULT
            .withAddresses(listen.stream().map(ProxyOptions::address).toList())
            .withOrigins(origins.stream().map(ProxyOptions::origin).toList())
            .withStorage(storage())
            .withRules(
                new CacheRules(
                    targets,
                    rules.heuristicShare(),
                    rules.heuristicMost(),
                    staleIfError,
                    Map.copyOf(negative)))
            .withTagFields(tagFields)
            .withName(name)
            .withKeptHost(host.equals("client"))
            .withForwarded(!noForwarded)
            .withTrust(Trust.of(trusted))
            .withProxyProtocol(proxyProtocol)
            .withConnections(connections)
            .withOriginLimits(UpstreamLimits.DEFAULT.withConnections(originConnections))
            .withSharedPort(sharePort)
            .withOriginVersion(originVersion())
            .withGrace(grace);
    if (forward) {
      var clients = forwardFor.isEmpty() ? ForwardRules.DEFAULT.clients() : Trust.of(forwardFor);
      settings = settings.withForward(new ForwardRules(clients, tunnelPorts, forwardToItself));
    }
    if (admin != null) {
      settings = settings.withAdmin(address(admin));
    }
    if (threads != null) {
      settings = settings.withProcessors(threads);
    }
    if (fibers != null) {
      settings = settings.withMode(fibers);
    }
    if (checkPath != null) {
      settings = settings.withCheck(checkPath, checkEvery);
    }
    var format = format();
    if (accessLog != null) {
      settings = settings.withAccessLog(accessLog.equals("-") ? null : Path.of(accessLog), format);
    }
    return secured(settings);
  }

  private ProxySettings secured(ProxySettings given) throws IOException, GeneralSecurityException {
    var settings = given;
    check((certificate == null) == (key == null), "--tls-cert and --tls-key belong together");
    if (certificate != null && key != null) {
      var files = new PemFiles(key, certificate, null);
      // Some clients offer nothing but the version that they were told to speak.
      var tls = ServerTls.Settings.of(files).withProtocols("h2", "http/1.1", "http/1.0");
      settings = settings.withTls(new ServerTls(tls));
    }
    return settings.withOriginTls(
        originAuthorities == null
            ? ClientTls.trustingPublic()
            : ClientTls.trusting(originAuthorities));
  }

  private StorageOptions storage() {
    check((disk == null) == (diskDirectory == null), "--disk and --disk-dir belong together");
    check(memory <= Quantities.memoryHere(), Quantities.beyondMemory("--memory", memory));
    var options = StorageOptions.memory(stored(memory));
    return disk == null || diskDirectory == null ? options : options.onDisk(diskDirectory, disk);
  }

  /** What is being received takes a quarter of what is stored beside it: both are the memory. */
  static long stored(long memory) {
    return memory <= 1 << 20 ? memory : Math.max(1 << 20, memory / 5 * 4);
  }

  private UpstreamVersion originVersion() {
    return switch (originHttp) {
      case "1.1" -> UpstreamVersion.HTTP_1_1;
      case "2" -> UpstreamVersion.HTTP_2;
      case "auto" -> UpstreamVersion.BY_ALPN;
      default ->
          throw new IllegalArgumentException(
              "--origin-http must be 1.1, 2 or auto, but is " + originHttp);
    };
  }

  private LogFormat format() {
    try {
      return LogFormat.valueOf(logFormat.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "--log-format must be common, combined or json, but is " + logFormat, e);
    }
  }

  private static void check(boolean good, String complaint) {
    if (!good) {
      throw new IllegalArgumentException(complaint);
    }
  }

  static InetSocketAddress address(String text) {
    int colon = text.lastIndexOf(':');
    var number = text.substring(colon + 1);
    check(
        colon >= 0 && number.matches("[0-9]{1,5}") && Integer.parseInt(number) <= 0xFFFF,
        "an address is HOST:PORT, such as 127.0.0.1:8080, but is " + text);
    var name = text.substring(0, colon).replaceAll("[\\[\\]]", "");
    var address =
        name.isEmpty()
            ? new InetSocketAddress(Integer.parseInt(number))
            : new InetSocketAddress(name, Integer.parseInt(number));
    check(!address.isUnresolved(), "there is no host " + name);
    return address;
  }

  private static Origin origin(String text) {
    var uri = URI.create(text);
    boolean secure = "https".equals(uri.getScheme());
    check(
        (secure || "http".equals(uri.getScheme()))
            && uri.getHost() != null
            && (uri.getPath().isEmpty() || uri.getPath().equals("/"))
            && uri.getQuery() == null
            && uri.getUserInfo() == null,
        "--origin must be http://HOST[:PORT] or https://HOST[:PORT], but is " + text);
    int port = uri.getPort() >= 0 ? uri.getPort() : secure ? 443 : 80;
    return new Origin(secure, uri.getHost().replaceAll("[\\[\\]]", ""), port);
  }
}

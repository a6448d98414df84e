package dev.evergreen.proxy;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.http.HttpSettings;
import dev.evergreen.http.Origin;
import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.http.UpstreamVersion;
import dev.evergreen.proxy.rules.CacheRules;
import dev.evergreen.proxy.storage.StorageOptions;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.ServerTls;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How a proxy is to be; each method answers this. A proxy takes a copy when it is started, and when
 * it is {@linkplain Proxy#reload reloaded}.
 */
public final class ProxySettings {
  List<InetSocketAddress> addresses =
      List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 8080));
  List<Origin> origins = List.of();
  UpstreamVersion originVersion = UpstreamVersion.BY_ALPN;
  @Nullable ForwardRules forward;
  boolean sharesPort;
  @Nullable InetSocketAddress admin;
  @Nullable ServerTls tls;
  @Nullable ClientTls originTls;
  StorageOptions storage = StorageOptions.memory(256L << 20);
  CacheRules rules = CacheRules.DEFAULT;
  HttpSettings http = HttpSettings.DEFAULT;
  UpstreamLimits originLimits = UpstreamLimits.DEFAULT;
  String name = "evergreen";
  boolean keepHost = true;
  boolean addForwarded = true;
  Trust trust = Trust.NOBODY;
  boolean acceptsProxyProtocol;
  Duration aloneFor = Duration.ofSeconds(10);
  Duration collapsedWait = Duration.ofSeconds(30);
  List<String> tagFields = List.of("Cache-Tag", "Surrogate-Key");
  int connections = 16_384;
  int processors = Runtime.getRuntime().availableProcessors();
  Fibers.@Nullable Mode mode;
  Duration grace = Duration.ofSeconds(30);
  @Nullable String checkPath;
  Duration checkEvery = Duration.ofSeconds(5);
  int remembered = 1000;
  @Nullable Path logFile;
  @Nullable LogFormat logFormat;
  @Nullable LongSupplier clock;

  /** The defaults; origins are missing. */
  public ProxySettings() {}

  ProxySettings copy() {
    var copy = new ProxySettings();
    copy.addresses = addresses;
    copy.origins = origins;
    copy.originVersion = originVersion;
    copy.forward = forward;
    copy.sharesPort = sharesPort;
    copy.admin = admin;
    copy.tls = tls;
    copy.originTls = originTls;
    copy.storage = storage;
    copy.rules = rules;
    copy.http = http;
    copy.originLimits = originLimits;
    copy.name = name;
    copy.keepHost = keepHost;
    copy.addForwarded = addForwarded;
    copy.trust = trust;
    copy.acceptsProxyProtocol = acceptsProxyProtocol;
    copy.aloneFor = aloneFor;
    copy.collapsedWait = collapsedWait;
    copy.tagFields = tagFields;
    copy.connections = connections;
    copy.processors = processors;
    copy.mode = mode;
    copy.grace = grace;
    copy.checkPath = checkPath;
    copy.checkEvery = checkEvery;
    copy.remembered = remembered;
    copy.logFile = logFile;
    copy.logFormat = logFormat;
    copy.clock = clock;
    return copy;
  }

  /** Where it listens; port 0 for any that is free. */
  public ProxySettings addresses(List<InetSocketAddress> all) {
    addresses = List.copyOf(all);
    return this;
  }

  /** Who has what it serves: one or more that have the same. */
  public ProxySettings origins(List<Origin> all) {
    origins = List.copyOf(all);
    return this;
  }

  /** Which version of HTTP it speaks with origins; by default what ALPN chooses. */
  public ProxySettings originVersion(UpstreamVersion version) {
    originVersion = version;
    return this;
  }

  /**
   * Makes it a forward proxy: it asks the origins that its clients name, instead of its own. By
   * default it is none.
   */
  public ProxySettings forward(ForwardRules rules) {
    forward = rules;
    return this;
  }

  /**
   * Whether other processes of the same user may listen at the same port, so that a new one can
   * take it over before this one is {@linkplain Proxy#drain drained}; not by default.
   */
  public ProxySettings sharesPort(boolean shared) {
    sharesPort = shared;
    return this;
  }

  /**
   * Where operators look and purge, on the loopback interface; nowhere by default.
   *
   * @throws IllegalArgumentException if others could reach the address
   */
  public ProxySettings admin(@Nullable InetSocketAddress address) {
    if (address != null && !address.getAddress().isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "operators are answered on the loopback interface only, not at " + address);
    }
    admin = address;
    return this;
  }

  /** How it speaks TLS; by default it does not. */
  public ProxySettings tls(ServerTls server) {
    tls = server;
    return this;
  }

  /** How it speaks TLS with origins; without it there are none by https. */
  public ProxySettings originTls(ClientTls trust) {
    originTls = trust;
    return this;
  }

  /** Where responses are kept; by default 256 MiB of memory. */
  public ProxySettings storage(StorageOptions options) {
    storage = options;
    return this;
  }

  /** What RFC 9111 leaves to a cache. */
  public ProxySettings rules(CacheRules chosen) {
    rules = chosen;
    return this;
  }

  /** Limits of what clients and origins send. */
  public ProxySettings http(HttpSettings limits) {
    http = limits;
    return this;
  }

  /** How many connections there are to an origin, and how long they are waited for and kept. */
  public ProxySettings originLimits(UpstreamLimits limits) {
    originLimits = limits;
    return this;
  }

  /** Its name in Via and Cache-Status, a token; "evergreen" by default. */
  public ProxySettings name(String token) {
    name = token;
    return this;
  }

  /**
   * Whether origins are told the Host that the client named, or their own; the former by default.
   */
  public ProxySettings keepHost(boolean kept) {
    keepHost = kept;
    return this;
  }

  /** Whether origins are told of the client by Forwarded and X-Forwarded-For; so by default. */
  public ProxySettings addForwarded(boolean added) {
    addForwarded = added;
    return this;
  }

  /** Whose word on who their client is counts; nobody's by default. */
  public ProxySettings trust(Trust proxies) {
    trust = proxies;
    return this;
  }

  /**
   * Whether connections of those that are trusted begin with the PROXY protocol; not by default.
   */
  public ProxySettings acceptsProxyProtocol(boolean accepted) {
    acceptsProxyProtocol = accepted;
    return this;
  }

  /** For how long requests are not collapsed whose response was for one client alone; 10 s. */
  public ProxySettings aloneFor(Duration time) {
    aloneFor = time;
    return this;
  }

  /** How long a request waits for another one's answer before it asks itself; 30 s. */
  public ProxySettings collapsedWait(Duration time) {
    collapsedWait = time;
    return this;
  }

  /** Fields of responses that list tags by which they can be purged. */
  public ProxySettings tagFields(List<String> names) {
    tagFields = List.copyOf(names);
    return this;
  }

  /** The most connections of clients at a time. */
  public ProxySettings connections(int most) {
    connections = most;
    return this;
  }

  /** Processors for fibers; the cores by default. */
  public ProxySettings processors(int number) {
    processors = number;
    return this;
  }

  /** On what fibers run. */
  public ProxySettings mode(Fibers.Mode forced) {
    mode = forced;
    return this;
  }

  /** How long requests may go on when it is ended; 30 s. */
  public ProxySettings grace(Duration time) {
    grace = time;
    return this;
  }

  /** The path by which origins are checked, and how often; they are not by default. */
  public ProxySettings check(String path, Duration every) {
    checkPath = path;
    checkEvery = every;
    return this;
  }

  /**
   * Writes an access log; there is none by default.
   *
   * @param file which is appended to; null for the standard output
   */
  public ProxySettings accessLog(@Nullable Path file, LogFormat format) {
    logFile = file;
    logFormat = format;
    return this;
  }

  /** How many of the last transactions are remembered, for operators at the admin address. */
  public ProxySettings remembered(int last) {
    remembered = last;
    return this;
  }

  /** The time in milliseconds since 1970, by a clock that does not go back; for tests. */
  ProxySettings clock(LongSupplier millis) {
    clock = millis;
    return this;
  }
}

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
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How a proxy is to be. Settings do not change: each method answers others, which differ in that.
 */
public final class ProxySettings implements Cloneable {
  /** What stands if nothing is said; origins are missing. */
  public static final ProxySettings DEFAULT = new ProxySettings();

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
  Times times = Times.ofMachine();

  private ProxySettings() {}

  private ProxySettings with(Consumer<ProxySettings> change) {
    var copy = copy();
    change.accept(copy);
    return copy;
  }

  private ProxySettings copy() {
    try {
      return (ProxySettings) clone();
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /** Where it listens; port 0 for any that is free. */
  public ProxySettings withAddresses(List<InetSocketAddress> all) {
    return with(copy -> copy.addresses = List.copyOf(all));
  }

  /** Who has what it serves: one or more that have the same. */
  public ProxySettings withOrigins(List<Origin> all) {
    return with(copy -> copy.origins = List.copyOf(all));
  }

  /** Which version of HTTP it speaks with origins; by default what ALPN chooses. */
  public ProxySettings withOriginVersion(UpstreamVersion version) {
    return with(copy -> copy.originVersion = version);
  }

  /**
   * Makes it a forward proxy: it asks the origins that its clients name, instead of its own. By
   * default it is none.
   */
  public ProxySettings withForward(ForwardRules rules) {
    return with(copy -> copy.forward = rules);
  }

  /**
   * Whether other processes of the same user may listen at the same port, so that a new one can
   * take it over before this one is {@linkplain Proxy#drain drained}; not by default.
   */
  public ProxySettings withSharedPort(boolean shared) {
    return with(copy -> copy.sharesPort = shared);
  }

  /**
   * Where operators look and purge, on the loopback interface; nowhere by default.
   *
   * @throws IllegalArgumentException if others could reach the address
   */
  public ProxySettings withAdmin(@Nullable InetSocketAddress address) {
    if (address != null && !address.getAddress().isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "operators are answered on the loopback interface only, not at " + address);
    }
    return with(copy -> copy.admin = address);
  }

  /** How it speaks TLS; by default it does not. */
  public ProxySettings withTls(ServerTls server) {
    return with(copy -> copy.tls = server);
  }

  /** How it speaks TLS with origins; without it there are none by https. */
  public ProxySettings withOriginTls(ClientTls trust) {
    return with(copy -> copy.originTls = trust);
  }

  /** Where responses are kept; by default 256 MiB of memory. */
  public ProxySettings withStorage(StorageOptions options) {
    return with(copy -> copy.storage = options);
  }

  /** What RFC 9111 leaves to a cache. */
  public ProxySettings withRules(CacheRules chosen) {
    return with(copy -> copy.rules = chosen);
  }

  /** Limits of what clients and origins send. */
  public ProxySettings withHttp(HttpSettings limits) {
    return with(copy -> copy.http = limits);
  }

  /** How many connections there are to an origin, and how long they are waited for and kept. */
  public ProxySettings withOriginLimits(UpstreamLimits limits) {
    return with(copy -> copy.originLimits = limits);
  }

  /** Its name in Via and Cache-Status, a token; "evergreen" by default. */
  public ProxySettings withName(String token) {
    return with(copy -> copy.name = token);
  }

  /**
   * Whether origins are told the Host that the client named, or their own; the former by default.
   */
  public ProxySettings withKeptHost(boolean kept) {
    return with(copy -> copy.keepHost = kept);
  }

  /** Whether origins are told of the client by Forwarded and X-Forwarded-For; so by default. */
  public ProxySettings withForwarded(boolean added) {
    return with(copy -> copy.addForwarded = added);
  }

  /** Whose word on who their client is counts; nobody's by default. */
  public ProxySettings withTrust(Trust proxies) {
    return with(copy -> copy.trust = proxies);
  }

  /**
   * Whether connections of those that are trusted begin with the PROXY protocol; not by default.
   */
  public ProxySettings withProxyProtocol(boolean accepted) {
    return with(copy -> copy.acceptsProxyProtocol = accepted);
  }

  /** For how long requests are not collapsed whose response was for one client alone; 10 s. */
  public ProxySettings withAloneFor(Duration time) {
    return with(copy -> copy.aloneFor = time);
  }

  /** How long a request waits for another one's answer before it asks itself; 30 s. */
  public ProxySettings withCollapsedWait(Duration time) {
    return with(copy -> copy.collapsedWait = time);
  }

  /** Fields of responses that list tags by which they can be purged. */
  public ProxySettings withTagFields(List<String> names) {
    return with(copy -> copy.tagFields = List.copyOf(names));
  }

  /** The most connections of clients at a time. */
  public ProxySettings withConnections(int most) {
    return with(copy -> copy.connections = most);
  }

  /** Processors for fibers; the cores by default. */
  public ProxySettings withProcessors(int number) {
    return with(copy -> copy.processors = number);
  }

  /** On what fibers run. */
  public ProxySettings withMode(Fibers.Mode forced) {
    return with(copy -> copy.mode = forced);
  }

  /** How long requests may go on when it is ended; 30 s. */
  public ProxySettings withGrace(Duration time) {
    return with(copy -> copy.grace = time);
  }

  /** The path by which origins are checked, and how often; they are not by default. */
  public ProxySettings withCheck(String path, Duration every) {
    return with(
        copy -> {
          copy.checkPath = path;
          copy.checkEvery = every;
        });
  }

  /**
   * Writes an access log; there is none by default.
   *
   * @param file which is appended to; null for the standard output
   */
  public ProxySettings withAccessLog(@Nullable Path file, LogFormat format) {
    return with(
        copy -> {
          copy.logFile = file;
          copy.logFormat = format;
        });
  }

  /** How many of the last transactions are remembered, for operators at the admin address. */
  public ProxySettings withRemembered(int last) {
    return with(copy -> copy.remembered = last);
  }

  /** The time in milliseconds since 1970, by a clock that does not go back; for tests. */
  ProxySettings withClock(LongSupplier millis) {
    return withTimes(new Times(millis, millis));
  }

  /** By which clocks it goes; for tests. */
  ProxySettings withTimes(Times clocks) {
    return with(copy -> copy.times = clocks);
  }
}

package dev.evergreen.server;

import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.Overflow;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.shims.Address;
import dev.evergreen.shims.redis.RedisShim;
import dev.evergreen.shims.redis.RedisShimSettings;
import dev.evergreen.telemetry.FibersMetrics;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Stands between clients and a Redis, and records what passes. */
@Command(
    name = "redis",
    description = {
      "Stands between clients and a Redis, and records what passes, in the foreground.",
      "ADDR is host:port, unix:PATH or tls:host:port. SIGINT and SIGTERM end it."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class RedisShimCommand implements Callable<Integer> {
  private static final Duration LONGEST_SPIN = Duration.ofMillis(1);
  private static final String POSTGRESQL = "jdbc:postgresql:";

  /** As TLS calls it (RFC 8446, section 6.2), and so the JDK. */
  private static final String WANTS_CERTIFICATE = "certificate_required";

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--listen",
      paramLabel = "ADDR",
      defaultValue = "127.0.0.1:6380",
      description = "Where clients connect. Default: ${DEFAULT-VALUE}.")
  private String listen = "";

  @Option(
      names = "--upstream",
      paramLabel = "ADDR",
      defaultValue = "127.0.0.1:6379",
      description = "Where Redis is. Default: ${DEFAULT-VALUE}.")
  private String upstream = "";

  @Option(
      names = "--trace",
      paramLabel = "DIR|URL",
      defaultValue = "trace",
      description =
          "Where it is recorded: a directory, or the URL of a PostgreSQL (jdbc:postgresql:...)."
              + " Default: ${DEFAULT-VALUE}.")
  private String trace = "";

  @Option(
      names = "--spool",
      paramLabel = "DIR",
      defaultValue = "trace",
      description =
          "With a URL: the directory where what waits for the database is kept."
              + " Default: ${DEFAULT-VALUE}.")
  private Path spool = Path.of("trace");

  @Option(
      names = "--keep-for",
      paramLabel = "TIME",
      converter = Quantities.Time.class,
      description =
          "Operations that are older are folded: what answers of now need stays."
              + " Default: all is kept.")
  private Duration keepFor = Retention.ALL.age();

  @Option(
      names = "--keep-size",
      paramLabel = "SIZE",
      converter = Quantities.Size.class,
      description =
          "When the database takes more, the oldest operations are folded, and removed if that is"
              + " not enough. Not for PostgreSQL. Default: all is kept.")
  private long keepSize = Retention.ALL.bytes();

  @Option(names = "--no-record", description = "Records nothing; to see what recording costs.")
  private boolean noRecord;

  @Option(
      names = "--durability",
      paramLabel = "WHEN",
      defaultValue = "batch",
      description =
          "When the record is on the disk: none (when the system likes), batch (50 ms later),"
              + " reply (before each reply leaves). Default: ${DEFAULT-VALUE}.")
  private Durability durability = Durability.BATCH;

  @Option(
      names = "--overflow",
      paramLabel = "WHAT",
      defaultValue = "slow",
      description =
          "When the record has no room: slow (clients wait) or drop (a gap is recorded)."
              + " Default: ${DEFAULT-VALUE}.")
  private Overflow overflow = Overflow.SLOW;

  @Option(
      names = "--hide",
      paramLabel = "REGEX",
      description =
          "What is recorded as a mark only, wherever it is found; may be given several times."
              + " Passwords of AUTH, HELLO, CONFIG, ACL and MIGRATE are hidden in any case.")
  private List<String> hide = List.of();

  @Option(
      names = "--user",
      paramLabel = "NAME",
      defaultValue = "default",
      description = "As whom the shim itself asks Redis what it is. Default: ${DEFAULT-VALUE}.")
  private String user = "";

  @Option(
      names = "--password-file",
      paramLabel = "FILE",
      description = "Holds that user's password.")
  private @Nullable Path passwordFile;

  @Option(
      names = "--threads",
      paramLabel = "N",
      description =
          "Processors for fibers. Default: half of the cores, as the other half is for Redis and"
              + " its clients; 1 at least, 4 at most.")
  private @Nullable Integer threads;

  @Option(
      names = "--spin",
      paramLabel = "TIME",
      converter = Quantities.Time.class,
      defaultValue = "200us",
      description =
          "How long a processor looks for what comes next before it sleeps, where that comes soon as"
              + " a rule: a client that waits for each reply gets it sooner, and the processor's core"
              + " is busy meanwhile. At most 1ms; 0s is not at all. Default: ${DEFAULT-VALUE}.")
  private Duration spin = Duration.ZERO;

  @Option(
      names = "--max-clients",
      paramLabel = "N",
      defaultValue = "10000",
      description = "The most clients at a time. Default: ${DEFAULT-VALUE}.")
  private int clients;

  @Option(
      names = "--spill",
      paramLabel = "SIZE",
      converter = Quantities.Size.class,
      defaultValue = "1GiB",
      description =
          "Replies that are kept for a client that does not take them, before it is dropped."
              + " Default: ${DEFAULT-VALUE}.")
  private long spill;

  @Option(
      names = "--metrics",
      paramLabel = "PORT",
      description =
          "Serves metrics of the record and the processors for Prometheus at"
              + " http://127.0.0.1:PORT/metrics.")
  private @Nullable Integer metricsPort;

  @Option(
      names = "--no-sharing",
      description = "Each client has an upstream of its own from the beginning.")
  private boolean noSharing;

  @Option(
      names = "--outside",
      description =
          "Notices writes that do not pass the shim. Redis then tells it of each key that is"
              + " written.")
  private boolean outside;

  @Option(
      names = "--effects",
      paramLabel = "FROM",
      defaultValue = "reply",
      description =
          "From where it is known what scripts and functions do: reply (it is not), monitor (Redis"
              + " then tells the shim of every command that it carries out)."
              + " Default: ${DEFAULT-VALUE}.")
  private Effects effects = Effects.REPLY;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = "The shim's certificates (PEM), if it listens at tls:host:port.")
  private @Nullable Path certificate;

  @Option(names = "--tls-key", paramLabel = "FILE", description = "Their key (PEM).")
  private @Nullable Path key;

  @Option(
      names = "--tls-ca",
      paramLabel = "FILE",
      description =
          "Whom to trust (PEM), if Redis is at tls:host:port. Default: whom the JDK trusts.")
  private @Nullable Path authority;

  @Option(
      names = "--tls-client-cert",
      paramLabel = "FILE",
      description =
          "The certificates (PEM) that the shim shows to Redis, if that is at tls:host:port and"
              + " asks for some, as it does by default.")
  private @Nullable Path clientCertificate;

  @Option(names = "--tls-client-key", paramLabel = "FILE", description = "Their key (PEM).")
  private @Nullable Path clientKey;

  /** From where it is known what scripts do. */
  enum Effects {
    /** It is not. */
    REPLY,
    /** From MONITOR. */
    MONITOR
  }

  /** Made by picocli. */
  RedisShimCommand() {}

  @Override
  public Integer call() throws InterruptedException {
    var from = address("--listen", listen);
    var to = address("--upstream", upstream);
    check(
        (clientCertificate == null) == (clientKey == null),
        "--tls-client-cert and --tls-client-key belong together");
    check(
        clientCertificate == null || to.tls(),
        "--tls-client-cert is shown to a Redis at --upstream tls:host:port, but that is " + to);
    check(clients > 0, "--max-clients must be positive, but is " + clients);
    check(spill > 0, "--spill must be positive");
    check(keepSize >= Retention.LEAST_BYTES, "--keep-size must be at least 1MiB");
    check(threads == null || threads > 0, "--threads must be positive, but is " + threads);
    check(spin.compareTo(LONGEST_SPIN) <= 0, "--spin must be at most 1ms");
    check(
        metricsPort == null || (metricsPort >= 0 && metricsPort <= 0xFFFF),
        "--metrics must be a port");
    check(
        !trace.startsWith("jdbc:") || trace.startsWith(POSTGRESQL),
        // The rest of it may hold a password.
        "--trace must be a directory or the URL of a PostgreSQL (%s...), but is %s..."
            .formatted(POSTGRESQL, trace.replaceAll("(?s)^(jdbc:[^:/?]*:?).*", "$1")));
    var redactions = redactions();
    try (var recording = noRecord ? null : record(redactions);
        var shim = RedisShim.start(settings(from, to, recording));
        var metrics = metricsPort == null ? null : metrics(metricsPort, shim, recording)) {
      drainAtSignals(shim, recording);
      spec.commandLine().getOut().println("Redis is recorded at " + show(shim.address()));
      if (metrics != null) {
        spec.commandLine().getOut().println("metrics at " + metrics.url());
      }
      spec.commandLine().getOut().flush();
      new CountDownLatch(1).await();
      return ExitCode.OK;
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      spec.commandLine().getErr().println("shim redis: " + reason(e));
      return ExitCode.SOFTWARE;
    }
  }

  private String reason(Exception e) {
    var reason = Reasons.of(e, "--listen or --metrics");
    return clientCertificate == null && reason.contains(WANTS_CERTIFICATE)
        ? reason + ": Redis asks for a certificate; give --tls-client-cert and --tls-client-key"
        : reason;
  }

  private static MetricsEndpoint metrics(int port, RedisShim shim, @Nullable Recording recording)
      throws IOException {
    var meters = new ArrayList<MeterBinder>();
    meters.add(FibersMetrics.of(shim::fibers));
    if (recording != null) {
      meters.add(new RecordingMetrics(recording));
    }
    return MetricsEndpoint.start(port, meters);
  }

  private Address address(String option, String text) {
    try {
      return Address.of(text);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), option + ": " + e.getMessage(), e);
    }
  }

  private void check(boolean good, String complaint) {
    if (!good) {
      throw new ParameterException(spec.commandLine(), complaint);
    }
  }

  private List<Pattern> redactions() {
    try {
      return hide.stream().map(Pattern::compile).toList();
    } catch (PatternSyntaxException e) {
      throw new ParameterException(spec.commandLine(), "--hide: " + e.getMessage(), e);
    }
  }

  private Recording record(List<Pattern> redactions) throws IOException {
    boolean isUrl = trace.startsWith(POSTGRESQL);
    var directory = isUrl ? spool : Path.of(trace);
    return Recording.open(
        directory,
        isUrl ? trace : "",
        SpoolSettings.DEFAULT.withDurability(durability).withOverflow(overflow),
        Redactor.open(directory, redactions),
        new Retention(keepFor, keepSize));
  }

  private RedisShimSettings settings(Address from, Address to, @Nullable Recording recording)
      throws IOException, GeneralSecurityException {
    var settings =
        RedisShimSettings.of(from, to)
            .withConnections(clients)
            .withSharing(!noSharing)
            .withSpinning(spin)
            .withOutside(outside)
            .withMonitor(effects == Effects.MONITOR)
            .withSpill(Path.of(System.getProperty("java.io.tmpdir")), spill)
            .withProcessors(
                threads != null
                    ? threads
                    : Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 1, 4));
    if (recording != null) {
      settings = settings.withSpool(recording.spool()).withRedactor(recording.redactor());
    }
    if (passwordFile != null) {
      settings = settings.withAccount(user, Files.readString(passwordFile).strip());
    }
    if (from.tls()) {
      if (certificate == null || key == null) {
        throw new IOException("--listen tls:... needs --tls-cert and --tls-key");
      }
      var files = new PemFiles(key, certificate, null);
      settings = settings.withServerTls(new ServerTls(ServerTls.Settings.of(files)));
    }
    if (to.tls()) {
      settings = settings.withClientTls(clientTls());
    }
    return settings;
  }

  private ClientTls clientTls() throws IOException, GeneralSecurityException {
    if (clientCertificate != null && clientKey != null) {
      return ClientTls.of(new PemFiles(clientKey, clientCertificate, authority));
    }
    return authority == null ? ClientTls.trustingPublic() : ClientTls.trusting(authority);
  }

  /** A signal begins the end of the JVM, whose exit code would tell of the signal. */
  private static void drainAtSignals(RedisShim shim, @Nullable Recording recording) {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> drain(shim, recording)));
  }

  private static void drain(RedisShim shim, @Nullable Recording recording) {
    var _ = shim.drain(Duration.ofSeconds(10));
    if (recording != null) {
      try {
        recording.close();
      } catch (IOException e) {
        System.getLogger(RedisShimCommand.class.getName())
            .log(System.Logger.Level.WARNING, "the record was not closed in order", e);
      }
    }
    Runtime.getRuntime().halt(ExitCode.OK);
  }

  private static String show(SocketAddress address) {
    return address instanceof InetSocketAddress inet
        ? inet.getAddress().getHostAddress() + ":" + inet.getPort()
        : "unix:" + address;
  }
}

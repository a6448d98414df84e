package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Spool;
import dev.evergreen.shims.Address;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.ServerTls;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a {@link RedisShim} runs. All but where it listens and for whom it speaks has a default.
 * Settings do not change: each method answers others, which differ in that.
 */
public final class RedisShimSettings implements Cloneable {
  final Address listen;
  final Address upstream;
  @Nullable Spool spool;
  @Nullable Redactor redactor;
  @Nullable ServerTls serverTls;
  @Nullable ClientTls clientTls;
  String user = "";
  String password = "";
  int processors = Runtime.getRuntime().availableProcessors();
  Duration spinning = Duration.ZERO;
  int connections = 10_000;
  long spill = 1L << 30;
  Path spillDirectory = Path.of(System.getProperty("java.io.tmpdir"));
  Duration patience = Duration.ZERO;
  boolean sharing = true;
  boolean outside;
  boolean monitor;

  private RedisShimSettings(Address listen, Address upstream) {
    this.listen = listen;
    this.upstream = upstream;
  }

  /** For a store, at an address. */
  public static RedisShimSettings of(Address listen, Address upstream) {
    return new RedisShimSettings(listen, upstream);
  }

  private RedisShimSettings with(Consumer<RedisShimSettings> change) {
    var copy = copy();
    change.accept(copy);
    return copy;
  }

  private RedisShimSettings copy() {
    try {
      return (RedisShimSettings) clone();
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /** Where it is recorded what passes; nowhere by default. The shim does not close it. */
  public RedisShimSettings withSpool(Spool spool) {
    return with(copy -> copy.spool = spool);
  }

  /** What replaces credentials in the record; by default a word that is the same for all. */
  public RedisShimSettings withRedactor(Redactor redactor) {
    return with(copy -> copy.redactor = redactor);
  }

  /** How TLS is spoken with clients, if it is. */
  public RedisShimSettings withServerTls(@Nullable ServerTls tls) {
    return with(copy -> copy.serverTls = tls);
  }

  /** How TLS is spoken with the store, if it is. */
  public RedisShimSettings withClientTls(@Nullable ClientTls tls) {
    return with(copy -> copy.clientTls = tls);
  }

  /** As whom the shim itself asks the store what it is; as nobody by default. */
  public RedisShimSettings withAccount(String user, String password) {
    return with(
        copy -> {
          copy.user = user;
          copy.password = password;
        });
  }

  /** How many processors its fibers run on; as many as there are cores by default. */
  public RedisShimSettings withProcessors(int processors) {
    return with(copy -> copy.processors = processors);
  }

  /**
   * How long a processor looks for what comes next before it sleeps, where that comes soon as a
   * rule ({@link dev.evergreen.fibers.Fibers.Builder#spinning}); it does not by default.
   */
  public RedisShimSettings withSpinning(Duration most) {
    return with(copy -> copy.spinning = most);
  }

  /** How many clients are served at a time; 10,000 by default. */
  public RedisShimSettings withConnections(int connections) {
    return with(copy -> copy.connections = connections);
  }

  /**
   * How many bytes of replies are kept for a client that does not take them, in files of a
   * directory, before it is dropped; 1 GiB by default.
   */
  public RedisShimSettings withSpill(Path directory, long bytes) {
    return with(
        copy -> {
          copy.spillDirectory = directory;
          copy.spill = bytes;
        });
  }

  /**
   * After how long without an answer an upstream that clients share is left; by default the store's
   * {@code busy-reply-threshold}.
   */
  public RedisShimSettings withPatience(Duration patience) {
    return with(copy -> copy.patience = patience);
  }

  /**
   * Whether writes that do not pass the shim are noticed; they are not by default, as Redis then
   * tells the shim of each key that is written, and the shim reads each request again.
   */
  public RedisShimSettings withOutside(boolean noticed) {
    return with(copy -> copy.outside = noticed);
  }

  /**
   * Whether MONITOR tells what scripts and functions do; it does not by default, as Redis then
   * tells the shim of every command that it carries out, and scripts go by an upstream of their
   * client's own. The store is to be reached by TCP.
   */
  public RedisShimSettings withMonitor(boolean listens) {
    return with(copy -> copy.monitor = listens);
  }

  /** Whether clients share upstreams; they do by default. */
  public RedisShimSettings withSharing(boolean sharing) {
    return with(copy -> copy.sharing = sharing);
  }
}

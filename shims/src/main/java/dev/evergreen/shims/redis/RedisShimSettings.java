package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Spool;
import dev.evergreen.shims.Address;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.ServerTls;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How a {@link RedisShim} runs. All but where it listens and for whom it speaks has a default. */
public final class RedisShimSettings {
  final Address listen;
  final Address upstream;
  @Nullable Spool spool;
  @Nullable Redactor redactor;
  @Nullable ServerTls serverTls;
  @Nullable ClientTls clientTls;
  String user = "";
  String password = "";
  int processors = Runtime.getRuntime().availableProcessors();
  int connections = 10_000;
  long spill = 1L << 30;
  Path spillDirectory = Path.of(System.getProperty("java.io.tmpdir"));
  Duration patience = Duration.ZERO;
  boolean sharing = true;
  boolean outside;
  boolean monitor;

  /** For a store, at an address. */
  public RedisShimSettings(Address listen, Address upstream) {
    this.listen = listen;
    this.upstream = upstream;
  }

  /** Where it is recorded what passes; nowhere by default. The shim does not close it. */
  public RedisShimSettings spool(Spool spool) {
    this.spool = spool;
    return this;
  }

  /** What replaces credentials in the record; by default a word that is the same for all. */
  public RedisShimSettings redactor(Redactor redactor) {
    this.redactor = redactor;
    return this;
  }

  /** How TLS is spoken with clients, if it is. */
  public RedisShimSettings serverTls(@Nullable ServerTls tls) {
    serverTls = tls;
    return this;
  }

  /** How TLS is spoken with the store, if it is. */
  public RedisShimSettings clientTls(@Nullable ClientTls tls) {
    clientTls = tls;
    return this;
  }

  /** As whom the shim itself asks the store what it is; as nobody by default. */
  public RedisShimSettings account(String user, String password) {
    this.user = user;
    this.password = password;
    return this;
  }

  /** How many processors its fibers run on; as many as there are cores by default. */
  public RedisShimSettings processors(int processors) {
    this.processors = processors;
    return this;
  }

  /** How many clients are served at a time; 10,000 by default. */
  public RedisShimSettings connections(int connections) {
    this.connections = connections;
    return this;
  }

  /**
   * How many bytes of replies are kept for a client that does not take them, in files of a
   * directory, before it is dropped; 1 GiB by default.
   */
  public RedisShimSettings spill(Path directory, long bytes) {
    spillDirectory = directory;
    spill = bytes;
    return this;
  }

  /**
   * After how long without an answer an upstream that clients share is left; by default the store's
   * {@code busy-reply-threshold}.
   */
  public RedisShimSettings patience(Duration patience) {
    this.patience = patience;
    return this;
  }

  /**
   * Whether writes that do not pass the shim are noticed; they are not by default, as Redis then
   * tells the shim of each key that is written, and the shim reads each request again.
   */
  public RedisShimSettings outside(boolean noticed) {
    outside = noticed;
    return this;
  }

  /**
   * Whether MONITOR tells what scripts and functions do; it does not by default, as Redis then
   * tells the shim of every command that it carries out, and scripts go by an upstream of their
   * client's own. The store is to be reached by TCP.
   */
  public RedisShimSettings monitor(boolean listens) {
    monitor = listens;
    return this;
  }

  /** Whether clients share upstreams; they do by default. */
  public RedisShimSettings sharing(boolean sharing) {
    this.sharing = sharing;
    return this;
  }
}

package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Storage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is stored of a response for a request in parts (RFC 9111 §3.3, §3.4).
 *
 * <p>Invariant: all parts are of one response. That is so by a strong tag; of what has none there
 * is one part. The newest tells how long all may be used: its origin has said by the tag that the
 * others are still right.
 */
final class Incomplete implements AutoCloseable {

  /** As many as are remembered of a URI. */
  private static final int MOST = 64;

  private final List<Found> parts;
  private final Found newest;
  private final @Nullable Vary vary;

  private Incomplete(List<Found> parts, Found newest, @Nullable Vary vary) {
    this.parts = parts;
    this.newest = newest;
    this.vary = vary;
  }

  /** Looks for it; null if there is nothing that can be read. */
  static @Nullable Incomplete find(Storage storage, String key, Fields request) {
    var variants = new Variants(request);
    var leases =
        storage.findAll(
            Proxy.segment(Parts.key(key)), MOST, each -> variants.takes(Parts.variant(each)));
    var parts = new ArrayList<Found>();
    leases.forEach(lease -> addIfReadable(lease, parts));
    try {
      return parts.isEmpty() ? null : of(parts, variants.seen());
    } catch (IOException e) {
      parts.forEach(Found::close);
      return null;
    }
  }

  private static void addIfReadable(Lease lease, List<Found> parts) {
    var part = Parts.range(lease.variant()).orElse(null);
    var found = part == null ? null : Found.of(lease, part);
    if (found != null) {
      parts.add(found);
    } else {
      lease.close();
    }
  }

  /** RFC 9111 §4: of several versions that with the newest Date; lets go of the others. */
  private static Incomplete of(List<Found> parts, @Nullable Vary vary) throws IOException {
    var newest = parts.getFirst();
    for (var each : parts) {
      newest = each.head().date() > newest.head().date() ? each : newest;
    }
    var kept = new ArrayList<Found>();
    for (var each : parts) {
      if (each.equals(newest) || areOfOne(each, newest)) {
        kept.add(each);
      }
    }
    parts.stream().filter(each -> !kept.contains(each)).forEach(Found::close);
    return new Incomplete(kept, newest, vary);
  }

  private static boolean areOfOne(Found part, Found other) throws IOException {
    return part.range().complete() == other.range().complete()
        && Parts.areOfOne(part.head().fields(), other.head().fields());
  }

  /** The part that was made or found right last. */
  Found newest() {
    return newest;
  }

  /** By what it varies. */
  @Nullable Vary vary() {
    return vary;
  }

  /** The length of the whole. */
  long complete() {
    return newest.range().complete();
  }

  /** Whether another part is one of the same response, so that they may be joined. */
  boolean isJoinedBy(ContentRange part, Fields response) throws IOException {
    return part.complete() == complete() && Parts.areOfOne(newest.head().fields(), response);
  }

  /** Whether the same is there as before. */
  boolean isSame(@Nullable Incomplete before) {
    return before != null
        && parts.size() == before.parts.size()
        && newest.lease().stamp() == before.newest.lease().stamp()
        && newest.head().life().equals(before.newest.head().life());
  }

  List<ByteRange> ranges() {
    return parts.stream().map(part -> part.range().range()).toList();
  }

  List<PartsLease.Piece> pieces() {
    return parts.stream()
        .map(part -> new PartsLease.Piece(part.range().range(), part.lease()))
        .toList();
  }

  /**
   * The whole, of which only what is {@linkplain #ranges there} may be read. It is held by this.
   */
  Found asWhole() {
    return new Found(new PartsLease(pieces(), newest.lease(), complete()), newest.head(), null);
  }

  @Override
  public void close() {
    parts.forEach(Found::close);
  }
}

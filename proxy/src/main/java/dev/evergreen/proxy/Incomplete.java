package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.Storage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
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

  /** What of a body is wanted by a request. */
  interface Wanted {
    /**
     * Says it.
     *
     * @param head that of the newest part
     * @param complete the length of the whole
     */
    List<ByteRange> of(StoredHead head, long complete) throws IOException;
  }

  private final Found newest;
  private final List<StoredPart> others;
  private final @Nullable Vary vary;

  private Incomplete(Found newest, List<StoredPart> others, @Nullable Vary vary) {
    this.newest = newest;
    this.others = others;
    this.vary = vary;
  }

  /**
   * Looks for it, and takes of it the newest part, and what of the others goes on furthest in what
   * is wanted. More is not read, and few of them are held until they are read again.
   *
   * @return null if there is nothing that can be read
   */
  static @Nullable Incomplete find(
      Storage storage, String key, Fields request, Wanted wanted, Recipient recipient) {
    var place = Proxy.segment(Parts.key(key));
    var search = new PartsSearch(storage, place, new Variants(request), recipient);
    var newest = search.newest();
    if (newest == null) {
      return null;
    }
    boolean found = false;
    try {
      for (var range : wanted.of(newest.head(), newest.range().complete())) {
        search.cover(range, newest);
      }
      found = true;
      return new Incomplete(newest, search.others(), search.vary());
    } catch (IOException e) {
      return null; // Nobody can tell what cannot be read.
    } finally {
      if (!found) {
        search.others().forEach(StoredPart::leave);
        newest.close();
      }
    }
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

  /**
   * Whether the newest is stored still, or by now again: else it may have been purged. It may have
   * been found right meanwhile.
   */
  boolean isStored(Storage storage, String key) throws IOException {
    var variant = newest.lease().variant();
    var place = Proxy.segment(Parts.key(key));
    try (var now = Found.find(storage, place, each -> Arrays.equals(each, variant))) {
      return now != null && Parts.areOfOne(newest.head().fields(), now.head().fields());
    }
  }

  /** Whether the same is there as before. */
  boolean isSame(@Nullable Incomplete before) {
    return before != null
        && others.size() == before.others.size()
        && newest.lease().stamp() == before.newest.lease().stamp()
        && newest.head().life().equals(before.newest.head().life());
  }

  /** What is there. */
  List<ByteRange> ranges() {
    return pieces().stream().map(PartsLease.Piece::range).toList();
  }

  List<PartsLease.Piece> pieces() {
    var pieces = new ArrayList<PartsLease.Piece>();
    pieces.add(new PartsLease.HeldPiece(newest.range().range(), newest.lease(), false));
    pieces.addAll(others);
    return pieces;
  }

  /**
   * The whole, of which only what is {@linkplain #ranges there} may be read. It is held by this.
   */
  Found asWhole() {
    return new Found(new PartsLease(pieces(), newest.lease(), complete()), newest.head(), null);
  }

  @Override
  public void close() {
    others.forEach(StoredPart::leave);
    newest.close();
  }
}

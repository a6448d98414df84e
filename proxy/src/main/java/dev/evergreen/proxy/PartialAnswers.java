package dev.evergreen.proxy;

import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.Storing;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Recipient;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one request has to do with parts of its response: which are stored, what of them is missing,
 * what the origin is asked for, and how a part that it sends is stored and joined with those (RFC
 * 9111 §3.3, §3.4).
 */
record PartialAnswers(
    Proxy proxy,
    Proxy.Setup setup,
    RequestHead request,
    String key,
    Delivery delivery,
    Recipient recipient) {

  /** A HEAD is not answered from them. */
  @Nullable Incomplete find() {
    return request.is("GET")
        ? Incomplete.find(proxy.storage(), key, request.fields(), delivery::wanted, recipient)
        : null;
  }

  /** What is missing of what the client is sent. */
  List<ByteRange> gaps(Incomplete parts) throws IOException {
    return gaps(delivery.wanted(parts.newest().head(), parts.complete()), parts.ranges());
  }

  /** What is missing of each of several. */
  static List<ByteRange> gaps(List<ByteRange> wanted, List<ByteRange> there) {
    var gaps = new ArrayList<ByteRange>();
    for (var each : wanted) {
      var gap = each.gap(there);
      if (gap != null) {
        gaps.add(gap);
      }
    }
    return gaps;
  }

  /**
   * What the origin is asked for when nothing whole is stored: a part if the client wants one, and
   * what is missing if something is there. The whole where that is as good: it is for all.
   *
   * @param whole the name of a fetch of the whole, which is waited for if it is under way
   */
  Wish wish(@Nullable Incomplete parts, String whole) throws IOException {
    if (!request.is("GET") || proxy.fetches().find(whole) != null) {
      return Wish.whole(parts);
    }
    if (parts == null) {
      return proxy.fetches().alone(withoutParts(), proxy.now())
          ? Wish.whole(null)
          : Wish.clients(null, request, false);
    }
    var gaps = gaps(parts);
    if (!gaps.isEmpty()) {
      return Wish.rest(parts, gaps);
    }
    boolean canBeValidated = !parts.newest().validators().isEmpty();
    return Wish.clients(parts, request, canBeValidated);
  }

  /** The name of what is known of an origin that sends no parts. */
  private String withoutParts() {
    return Fetches.name(key, "/");
  }

  boolean haveChanged(Wish wish) {
    if (wish.isPlain()) {
      return false;
    }
    try (var now = find()) {
      return now == null ? wish.parts() != null : !now.isSame(wish.parts());
    }
  }

  /** The whole as far as it is there, with a part that comes. Its caller holds all. */
  static Lease join(@Nullable Incomplete parts, Arrival arrival, Lease lease) throws IOException {
    var part = arrival.part();
    if (part == null) {
      return lease;
    }
    var pieces = new ArrayList<PartsLease.Piece>();
    pieces.add(new PartsLease.HeldPiece(part.range(), lease, true));
    if (parts != null && parts.isJoinedBy(part, arrival.head().fields())) {
      pieces.addAll(parts.pieces());
    }
    return new PartsLease(pieces, lease, part.complete());
  }

  /** Whether a part, with those that it is one response with, has all that the client is sent. */
  boolean completes(ContentRange part, StoredHead head, @Nullable Incomplete parts)
      throws IOException {
    var there = new ArrayList<ByteRange>();
    there.add(part.range());
    if (parts != null && parts.isJoinedBy(part, head.fields())) {
      there.addAll(parts.ranges());
    }
    return gaps(delivery.wanted(head, part.complete()), there).isEmpty();
  }

  /** How an origin's part is stored that answers this request; null if it does not, or may not. */
  @Nullable Arrival arrival(OriginAnswer answer, Wish wish, long stamp) throws IOException {
    var part = Parts.of(answer);
    if (part == null || wish.isPlain()) {
      return null;
    }
    var parts = partsFor(part, answer, wish);
    if (parts == null && mayLackFields(answer.head(), wish)) {
      return null;
    }
    var before = parts == null ? null : parts.newest().head().fields();
    var entry = keeper().entry(answer, part, before, stamp);
    if (entry == null || !completes(part, StoredHead.of(ByteBuffer.wrap(entry.head())), parts)) {
      return null;
    }
    return new Arrival(entry, part.isWhole() ? null : part, before, proxy.storage(), recipient);
  }

  /**
   * Whether a part may come without what tells of the whole, as who asks by If-Range has that (RFC
   * 9110 §15.3.7). To others it would be sent so; but many origins leave out nothing.
   */
  private static boolean mayLackFields(ResponseHead head, Wish wish) {
    return wish.kind() == Wish.Kind.REST
        || (wish.ifRange() != null && !head.fields().has("content-type"));
  }

  /**
   * With what a part is joined; null if with nothing. That is looked for once more now: what was
   * purged while this request waited is part of nothing that is stored. A purge from the question
   * to the origin on takes what is stored of its answer, too.
   */
  private @Nullable Incomplete partsFor(ContentRange part, OriginAnswer answer, Wish wish)
      throws IOException {
    var parts = wish.parts();
    boolean joins =
        parts != null
            && parts.isJoinedBy(part, answer.head().fields())
            && parts.isStored(proxy.storage(), key);
    return joins ? parts : null;
  }

  /** Whether an origin has something else now than what parts are of, or wants it kept no more. */
  boolean isAnother(OriginAnswer answer, Incomplete parts) throws IOException {
    var part = Parts.of(answer);
    return part == null
        || !parts.isJoinedBy(part, answer.head().fields())
        || keeper().entry(answer, part, parts.newest().head().fields(), proxy.now()) == null;
  }

  /** An origin has the whole for who has asked for something that parts are of, or for a part. */
  void learn(Wish wish, ResponseHead head) {
    boolean tells = Storing.tellsOfResource(head.status()) && !keeper().isOwn();
    if (wish.parts() != null && tells) {
      proxy.invalidateParts(key);
    }
    boolean mayHave = wish.ifRange() != null || head.fields().hasMember("accept-ranges", "bytes");
    if (wish.kind() == Wish.Kind.CLIENTS_RANGE && head.status() == 200 && tells && !mayHave) {
      proxy.fetches().remember(withoutParts(), proxy.now() + setup.settings().aloneFor.toMillis());
    }
  }

  private Keeper keeper() {
    return new Keeper(proxy, setup, request, key);
  }
}

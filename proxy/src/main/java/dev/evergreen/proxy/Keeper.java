package dev.evergreen.proxy;

import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.http.BodyReader;
import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.Demands;
import dev.evergreen.proxy.rules.Forwarding;
import dev.evergreen.proxy.rules.Freshening;
import dev.evergreen.proxy.rules.Life;
import dev.evergreen.proxy.rules.Storing;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.Appender;
import dev.evergreen.proxy.storage.Entry;
import dev.evergreen.proxy.storage.IncompleteException;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Recipient;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Puts what an origin has answered to one request into the storage. */
final class Keeper {

  private static final int PIECE = 16 << 10;
  private static final long MOST_ADOPTED = 256 << 10;

  private final Proxy proxy;
  private final Proxy.Setup setup;
  private final RequestHead request;
  private final String key;

  Keeper(Proxy proxy, Proxy.Setup setup, RequestHead request, String key) {
    this.proxy = proxy;
    this.setup = setup;
    this.request = request;
    this.key = key;
  }

  /** How a response is stored; null if it may not be, or is too large in some way. */
  @Nullable Entry entry(OriginAnswer answer, long stamp) {
    var body = answer.exchange().body();
    return entry(answer, answer.head(), null, body.ended() ? 0 : body.length(), stamp);
  }

  /**
   * The same of a part. If that is all there is, it is stored as the whole.
   *
   * @param before the fields of what it is to be joined with, which are updated by its own (RFC
   *     9111 §3.4); or null
   */
  @Nullable Entry entry(
      OriginAnswer answer, ContentRange part, @Nullable Fields before, long stamp) {
    var head =
        before == null
            ? ResponseHead.of(200, Parts.fields(answer.head()))
            : updated(200, before, answer);
    var stored = part.isWhole() ? null : part;
    return entry(answer, head, stored, part.range().length(), stamp);
  }

  private @Nullable Entry entry(
      OriginAnswer answer,
      ResponseHead head,
      @Nullable ContentRange part,
      long length,
      long stamp) {
    var rules = setup.settings().rules;
    if (Storing.of(request, head, answer.date(), rules) != Storing.YES) {
      return null;
    }
    var fields = Storing.fields(head, rules);
    addDate(fields, answer.date());
    var life = answer.life(head, rules);
    var variant = Variants.write(Vary.of(fields).orElseThrow(), request.fields());
    try {
      return new Entry(
          Proxy.segment(part == null ? key : Parts.key(key)),
          part == null ? variant : Parts.variant(part, variant),
          StoredHead.encode(head.status(), life, fields),
          tags(fields),
          stamp,
          length);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  /**
   * The head for the client that asked for what is stored: with the fields that are not stored, as
   * they are for it alone (RFC 9111 §5.2.2.4, §5.2.2.7).
   */
  StoredHead headForFirst(OriginAnswer answer, Arrival arrival) throws IOException {
    var stored = arrival.head();
    var before = arrival.before();
    if (before != null) {
      return withFields(stored, dated(Freshening.forAsker(before, answer.head()), answer));
    }
    if (!Storing.leavesOut(answer.head(), setup.settings().rules)) {
      return stored;
    }
    var fields = Parts.fields(answer.head());
    Forwarding.strip(fields);
    fields.remove("age").remove("trailer");
    addDate(fields, answer.date());
    return withFields(stored, fields);
  }

  private static StoredHead withFields(StoredHead head, Fields fields) throws IOException {
    return fields.equals(head.fields())
        ? head
        : StoredHead.of(ByteBuffer.wrap(StoredHead.encode(head.status(), head.life(), fields)));
  }

  /** RFC 9110 §6.6.1: who receives a response without a date adds it. */
  static void addDate(Fields fields, long received) {
    if (!fields.has("date")) {
      fields.add("Date", HttpDate.format(received));
    }
  }

  /** A buffer to copy a body by: no larger than that. */
  static ByteBuffer buffer(BodyReader body) {
    long length = body.length();
    return ByteBuffer.allocate(length < 0 ? PIECE : Math.clamp(length, 1, PIECE));
  }

  /**
   * Stores the body as it comes, and ends the fetch. It outlives the client, so it touches nothing
   * of its exchange.
   */
  void receive(String what, Fetch fetch, OriginAnswer answer, Arrival arrival) {
    try (arrival) {
      boolean stored = store(answer, arrival);
      if (stored || arrival.part() != null) {
        settle(arrival); // A part tells of the whole also if it was invalidated meanwhile.
      }
    } catch (IncompleteException | BuffersExhaustedException e) {
      // Nobody wants it any more, or there is no room for it; and the origin is told.
    } catch (IOException e) {
      proxy.count(Count.CUT_OFF);
    } finally {
      proxy.fetches().end(what, fetch);
    }
  }

  /**
   * What is whole is found before parts, though these may have been asked for later, while it was
   * fetched; and parts would be found again when it is evicted. So of the two that which was asked
   * for earlier is used no more. Whichever is stored last sees the other.
   */
  private void settle(Arrival arrival) throws IOException {
    if (arrival.part() == null) {
      settleParts(arrival);
      return;
    }
    try (var _ = proxy.storage().ask(Proxy.segment(key)); // for what is retired
        var whole = findWhole()) {
      if (whole != null && whole.lease().stamp() > arrival.stamp()) {
        proxy.invalidateParts(key);
      } else if (whole != null && !isOfOne(whole, arrival)) {
        retire(whole, arrival.stamp());
      }
    }
  }

  private void settleParts(Arrival arrival) throws IOException {
    try (var parts =
        Incomplete.find(
            proxy.storage(), key, request.fields(), (_, _) -> List.of(), new Recipient())) {
      if (parts == null) {
        return;
      }
      long stamp = parts.newest().lease().stamp();
      if (stamp < arrival.stamp()) {
        proxy.invalidateParts(key);
      } else if (!isOfOne(parts.newest(), arrival)) {
        try (var whole = findWhole()) {
          if (whole != null && whole.lease().stamp() < stamp) {
            retire(whole, stamp);
          }
        }
      }
    }
  }

  private @Nullable Found findWhole() {
    return Found.find(proxy.storage(), Proxy.segment(key), new Variants(request.fields()));
  }

  private static boolean isOfOne(Found other, Arrival arrival) throws IOException {
    return Parts.areOfOne(other.head().fields(), arrival.head().fields());
  }

  /** Ends all that {@link #receive} would end, if it cannot be begun. */
  void drop(String what, Fetch fetch, OriginAnswer answer, Arrival arrival) {
    try (arrival) {
      answer.close();
    } finally {
      proxy.fetches().end(what, fetch);
    }
  }

  private static boolean store(OriginAnswer from, Arrival arrival) throws IOException {
    try {
      receive(from, arrival);
      return arrival.appender().commit();
    } catch (IncompleteException e) {
      throw e; // That is no failure of the origin.
    } catch (IOException e) {
      arrival.breakOff(OriginFailure.of(e)); // Before it is closed: who wakes later asks then.
      throw e;
    }
  }

  /** Storing may take a while, in which others can use the connection. */
  private static void receive(OriginAnswer from, Arrival arrival) throws IOException {
    try (from) {
      var body = from.exchange().body();
      var piece = buffer(body);
      while (body.read(piece) >= 0) {
        arrival.append(piece.flip());
        piece.clear();
      }
    }
  }

  /**
   * Whether an answer may be for who asked alone only because of what it asked: then it tells
   * nothing of what is stored for others.
   */
  boolean isOwn() {
    return Demands.of(request.fields()).noStore() || request.fields().has("authorization");
  }

  /**
   * Gives what is stored the newer fields of a 304 or of an answer to HEAD (RFC 9111 §3.2). If it
   * may not be stored with these, it is {@linkplain #retire retired}; unless that is so only for
   * {@linkplain #isOwn who asked}.
   *
   * <p>It is also retired if it varies by other fields now: what the request for it had in these
   * nobody knows (§4.1). Who has asked can have it nevertheless, and others of its variant can,
   * once it was {@linkplain #adopt adopted}.
   *
   * @return null if there would be more fields than an origin may send at once, as after many that
   *     were new each time, or it varies otherwise and is too large to be adopted: then it is
   *     retired, and the whole is to be asked for
   */
  @Nullable Refreshed refresh(Found found, OriginAnswer answer, long stamp) throws IOException {
    if (hasOutgrown(found, answer)) {
      if (!isOwn()) {
        retire(found, stamp);
      }
      return null;
    }
    var rules = setup.settings().rules;
    var stored = found.head().fields();
    var merged = updated(found.head().status(), stored, answer);
    var fields = merged.fields().copy().remove("age");
    var life = answer.life(merged, rules);
    var bytes = StoredHead.encode(merged.status(), life, fields);
    var tags = tags(fields);
    boolean kept =
        Storing.of(asGet(), merged, answer.date(), rules) == Storing.YES
            && tags.size() <= Entry.MAX_TAGS;
    boolean moves = kept && variesOtherwise(found, fields);
    if (moves) {
      retire(found, stamp);
    } else if (kept) {
      proxy.storage().replaceHead(found.lease(), bytes, tags, stamp);
    } else if (stored.has("set-cookie")) {
      proxy.invalidate(key); // or each who asks would get it
    } else if (!isOwn()) {
      retire(found, stamp);
    }
    return moves && !canBeAdopted(found) ? null : new Refreshed(bytes, kept, moves);
  }

  /** The head that a stored one becomes by the fields of a newer one, with the age of that. */
  private ResponseHead updated(int status, Fields stored, OriginAnswer newer) {
    var rules = setup.settings().rules;
    var fields = dated(Freshening.update(stored, newer.head(), newer.date(), rules), newer);
    var age = newer.head().fields().get("age");
    return ResponseHead.of(status, age == null ? fields : fields.set("Age", age));
  }

  private static boolean variesOtherwise(Found found, Fields now) {
    var before = Variants.vary(found.variant());
    return !Vary.of(now).equals(Optional.of(before));
  }

  private boolean hasOutgrown(Found found, OriginAnswer answer) throws IOException {
    var all = Freshening.forAsker(found.head().fields(), answer.head());
    return all.size() > setup.settings().http.fieldBytes();
  }

  /**
   * There is something else now than what is stored, which is of use only if the origin says that
   * it is right nevertheless. What is stored for other requests stays as it is: who asks by one of
   * them learns nothing of that from an answer to this one.
   *
   * <p>Of parts all are forgotten, as those beside it are of the same, or older.
   *
   * @param stamp of before the origin was asked
   */
  void retire(Found found, long stamp) throws IOException {
    var life = found.head().life();
    if (found.part() != null) {
      proxy.invalidateParts(key);
    } else if (!life.isRetired()) {
      rewrite(found, life.retired(), stamp);
    }
  }

  /**
   * The origin has answered by something that may not be kept. If that tells what there is now,
   * what was kept is {@linkplain #retire retired}; not if it tells what was wrong with this
   * request.
   *
   * @param found what was kept, or null
   * @return whether it tells what there is now
   */
  boolean displace(@Nullable Found found, int status, long stamp) throws IOException {
    boolean tells = Storing.tellsOfResource(status) && !isOwn();
    if (tells && found != null) {
      retire(found, stamp);
    }
    return tells;
  }

  /** What is stored is stale from now on; parts are forgotten. */
  void end(Found found, long stamp) throws IOException {
    if (found.part() != null) {
      proxy.invalidateParts(key);
    } else {
      rewrite(found, life(found).endedAt(proxy.now()), stamp);
    }
  }

  private void rewrite(Found found, Life life, long stamp) throws IOException {
    var fields = found.head().fields();
    var head = StoredHead.encode(found.head().status(), life, fields);
    boolean done = proxy.storage().replaceHead(found.lease(), head, tags(fields), stamp);
    if (!done && found.isStillUsed(proxy.storage(), key, stamp)) {
      proxy.suspect(key); // It has no place for another head at the moment.
    }
  }

  /**
   * How long a stored response may be used. If it was softly purged, it is stale since then; since
   * it was made, if nobody knows when that was.
   */
  Life life(Found found) throws IOException {
    var life = found.head().life();
    if (!found.lease().isStale()) {
      return life;
    }
    var purged = proxy.softPurges().last(key, tags(found.head().fields()), proxy.now());
    return life.endedAt(purged.orElse(life.made()));
  }

  private static Fields dated(Fields updated, OriginAnswer by) {
    return by.head().fields().has("date")
        ? updated
        : updated.set("Date", HttpDate.format(by.date()));
  }

  /** The head for the client whose request was answered by 304: with what is for it alone. */
  StoredHead headForAsker(Found found, OriginAnswer answer, Refreshed refreshed)
      throws IOException {
    var head = refreshed.head();
    var stored = found.head().fields();
    var seen = refreshed.kept() ? stored : stored.copy().remove("set-cookie");
    return withFields(head, dated(Freshening.forAsker(seen, answer.head()), answer));
  }

  /**
   * What has become of a stored head.
   *
   * @param kept whether it may be stored so
   * @param moves whether it is not, as it was stored for other requests than it is for now
   */
  record Refreshed(byte[] bytes, boolean kept, boolean moves) {
    StoredHead head() throws IOException {
      return StoredHead.of(ByteBuffer.wrap(bytes));
    }
  }

  /**
   * Stores another variant's response for this request, too, as the origin has said that it is the
   * answer (RFC 9111 §4.1); not if it is large, as then the next 304 costs less than the copy.
   */
  void adopt(Found other, Refreshed refreshed, long stamp) throws IOException {
    if (!refreshed.kept() || !canBeAdopted(other)) {
      return;
    }
    long length = other.lease().length();
    var fields = refreshed.head().fields();
    var variant = Variants.write(Vary.of(fields).orElseThrow(), request.fields());
    if (variant.length > Entry.MAX_VARIANT) {
      return; // Each who asks has it validated.
    }
    var entry =
        new Entry(Proxy.segment(key), variant, refreshed.bytes(), tags(fields), stamp, length);
    try (var appender = proxy.storage().append(entry)) {
      copy(other.lease(), length, appender);
      appender.commit();
    } catch (IncompleteException e) {
      // There is no room for it now.
    }
  }

  private static boolean canBeAdopted(Found other) {
    long length = other.lease().length();
    return length >= 0 && length <= MOST_ADOPTED;
  }

  /** A lease may have only a part at hand. */
  private static void copy(Lease from, long length, Appender to) throws IOException {
    for (long done = 0; done < length; ) {
      for (var piece : from.read(done, length - done)) {
        done += piece.remaining();
        to.append(piece);
      }
    }
  }

  private List<String> tags(Fields fields) {
    return Tags.of(key, fields, setup.settings().tagFields);
  }

  private RequestHead asGet() {
    return request.is("GET") ? request : request.copy().method("GET");
  }
}

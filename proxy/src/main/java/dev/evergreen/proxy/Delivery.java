package dev.evergreen.proxy;

import dev.evergreen.http.BodyWriter;
import dev.evergreen.http.Exchange;
import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.rules.CacheStatus;
import dev.evergreen.proxy.rules.Conditions;
import dev.evergreen.proxy.rules.Multipart;
import dev.evergreen.proxy.rules.Ranges;
import dev.evergreen.proxy.storage.Lease;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Answers a client from a stored response, or from one that is being stored: all of it, the parts
 * that the client wants, or that it has it already.
 */
final class Delivery {

  /** So much of a body is asked for at a time. */
  private static final long PIECE = 1 << 20;

  /** So much of a body comes soon. */
  private static final long FAR = 1 << 20;

  /** What a 304 tells (RFC 9110 §15.4.5), beside Age, Via and Cache-Status. */
  private static final List<String> OF_304 =
      List.of("cache-control", "content-location", "date", "etag", "expires", "vary");

  /** Room for the lines that are added to what is stored. */
  private static final int ADDED = 96;

  private final Exchange exchange;
  private final RequestHead request;
  private final Course course;
  private final Proxy.Setup setup;

  /** For one client. */
  Delivery(Exchange exchange, Course course, Proxy.Setup setup) {
    this.exchange = exchange;
    this.request = exchange.request();
    this.course = course;
    this.setup = setup;
  }

  /**
   * Answers, by a response that may be used.
   *
   * @param age the Age that the client is told; null if the origin itself has just made or
   *     validated it, as an age would tell that it has not (RFC 9111 §5.1)
   */
  void send(StoredHead head, Lease lease, CacheStatus status, @Nullable String age, Times times)
      throws IOException {
    var more = new Fields(ADDED, 3);
    if (age != null) {
      more.add("Age", age);
    }
    more.add("Via", setup.via());
    more.add("Cache-Status", status.member(setup.settings().name));
    course.cache = status;
    if (isNotModified(head)) {
      sendNotModified(head, more);
      return;
    }
    // Its fields are parsed for that only.
    var ranges =
        request.fields().has("range")
            ? ranges(head.status(), head.fields(), lease.length())
            : new Ranges.Whole();
    switch (ranges) {
      case Ranges.Whole() -> sendWhole(head, lease, more);
      case Ranges.Unsatisfiable() -> sendUnsatisfiable(lease, more, times.date());
      case Ranges.Parts(var parts) when parts.size() == 1 ->
          sendPart(head, lease, parts.getFirst(), more);
      case Ranges.Parts(var parts) -> sendParts(head, lease, parts, more);
    }
  }

  /**
   * What of a body the client is sent if it is answered by this head: nothing, all, or the parts
   * that it wants.
   *
   * @param length of the whole
   */
  List<ByteRange> wanted(StoredHead head, long length) throws IOException {
    if (isNotModified(head)) {
      return List.of();
    }
    return switch (ranges(head.status(), head.fields(), length)) {
      case Ranges.Whole() -> List.of(new ByteRange(0, length - 1));
      case Ranges.Parts(var parts) -> parts;
      case Ranges.Unsatisfiable() -> List.of();
    };
  }

  private boolean isNotModified(StoredHead head) throws IOException {
    return Conditions.has(request.fields())
        && Conditions.notModified(request, head.status(), head.fields(), head.life().received());
  }

  /**
   * Whether the client wants a part that begins much later than what is there of a response, of an
   * origin that has parts: it would wait long for it.
   *
   * @param here how many bytes are there
   */
  boolean isFar(int status, Fields fields, long length, long here) {
    return request.fields().has("range")
        && !Conditions.has(request.fields())
        && fields.hasMember("accept-ranges", "bytes")
        && ranges(status, fields, length) instanceof Ranges.Parts(var parts)
        && parts.stream().anyMatch(part -> part.first() > here + FAR);
  }

  /** A body whose length is not known yet is sent whole. */
  private Ranges ranges(int status, Fields fields, long length) {
    boolean asked =
        request.is("GET")
            && status == 200
            && length >= 0
            && Conditions.rangeCounts(request.fields(), fields);
    return asked ? Ranges.of(request.fields().all("range"), length) : new Ranges.Whole();
  }

  private void sendNotModified(StoredHead head, Fields more) throws IOException {
    var fields = new Fields();
    var stored = head.fields();
    for (int i = 0; i < stored.count(); i++) {
      int line = i;
      if (OF_304.stream().anyMatch(name -> stored.isNamed(line, name))) {
        fields.add(stored.name(i), stored.value(i));
      }
    }
    // RFC 9110 §15.4.5: other metadata only where there is no tag.
    if (!stored.has("etag") && stored.has("last-modified")) {
      fields.add("Last-Modified", String.valueOf(stored.get("last-modified")));
    }
    answer(304, 0);
    exchange.respond(ResponseHead.of(304, fields.addAll(more))).end();
  }

  private void sendUnsatisfiable(Lease lease, Fields more, long date) throws IOException {
    Keeper.addDate(more, date);
    more.add("Content-Range", "bytes */" + lease.length());
    answer(416, 0);
    exchange.respond(ResponseHead.of(416, more), ByteBuffer.allocate(0));
  }

  private void sendWhole(StoredHead head, Lease lease, Fields more) throws IOException {
    long length = lease.length();
    if (request.is("HEAD") || length == 0) {
      sendHeadOnly(head, length, more);
      return;
    }
    if (length > 0 && length <= PIECE && lease.source() != Lease.Source.ORIGIN) {
      var pieces = lease.read(0, length);
      if (total(pieces) == length) {
        answer(head.status(), length);
        exchange.respond(head.status(), head.lines(), more, pieces);
        return;
      }
    }
    var response = ResponseHead.of(head.status(), head.fields().copy().addAll(more));
    if (length >= 0) {
      response.fields().set("Content-Length", length);
    }
    answer(head.status(), 0);
    stream(response, writer -> copy(lease, 0, Long.MAX_VALUE, writer));
  }

  private void sendHeadOnly(StoredHead head, long length, Fields more) throws IOException {
    var response = ResponseHead.of(head.status(), head.fields().copy().addAll(more));
    if (length >= 0) {
      response.fields().set("Content-Length", length);
    }
    answer(head.status(), 0);
    exchange.respond(response).end();
  }

  private void sendPart(StoredHead head, Lease lease, ByteRange range, Fields more)
      throws IOException {
    var fields = ofPart(head, more);
    fields.set("Content-Range", range.contentRange(lease.length()));
    fields.set("Content-Length", range.length());
    answer(206, 0);
    stream(
        ResponseHead.of(206, fields), writer -> copy(lease, range.first(), range.length(), writer));
  }

  /** What is stored but for the digest of what a whole answer has as content (RFC 9530 §2). */
  private static Fields ofPart(StoredHead head, Fields more) throws IOException {
    return head.fields().copy().addAll(more).remove("content-digest").remove("content-md5");
  }

  private void sendParts(StoredHead head, Lease lease, List<ByteRange> ranges, Fields more)
      throws IOException {
    var random = ThreadLocalRandom.current();
    var boundary = Long.toHexString(random.nextLong()) + Long.toHexString(random.nextLong());
    var multipart =
        new Multipart(boundary, head.fields().get("content-type"), lease.length(), ranges);
    var fields = ofPart(head, more);
    fields.set("Content-Type", multipart.contentType());
    fields.set("Content-Length", multipart.length());
    answer(206, 0);
    stream(
        ResponseHead.of(206, fields),
        writer -> {
          for (var range : ranges) {
            writer.write(multipart.before(range));
            copy(lease, range.first(), range.length(), writer);
          }
          writer.write(multipart.end());
        });
  }

  private interface Body {
    void write(BodyWriter writer) throws IOException;
  }

  private void stream(ResponseHead head, Body body) throws IOException {
    var writer = exchange.respond(head);
    boolean whole = false;
    try {
      body.write(writer);
      writer.end();
      whole = true;
    } finally {
      if (!whole) {
        writer.abort();
      }
    }
  }

  private void copy(Lease lease, long from, long count, BodyWriter writer) throws IOException {
    long done = 0;
    while (done < count) {
      var pieces = lease.read(from + done, Math.min(PIECE, count - done));
      long had = total(pieces);
      if (had == 0) {
        return;
      }
      for (var piece : pieces) {
        writer.write(piece);
      }
      course.reached(Point.BODY, had);
      course.bytes += had;
      done += had;
      if (lease.source() == Lease.Source.ORIGIN) {
        // The next piece may take long to come.
        writer.flush();
      }
    }
  }

  private static long total(ByteBuffer[] pieces) {
    long total = 0;
    for (var piece : pieces) {
      total += piece.remaining();
    }
    return total;
  }

  private void answer(int status, long bytes) {
    course.status = status;
    course.bytes = bytes;
    course.reached(Point.ANSWER, status);
  }
}

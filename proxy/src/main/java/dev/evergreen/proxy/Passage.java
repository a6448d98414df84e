package dev.evergreen.proxy;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Pace;
import dev.evergreen.http.BodyReader;
import dev.evergreen.http.BodyWriter;
import dev.evergreen.http.Exchange;
import dev.evergreen.http.Fields;
import dev.evergreen.http.MalformedMessageException;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.http.Tunnel;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.rules.CacheStatus;
import dev.evergreen.proxy.rules.Forwarding;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Passes an origin's response on to one client as it comes.
 *
 * @param reach whom the request may be for
 */
record Passage(Proxy proxy, Proxy.Setup setup, Exchange exchange, Course course, Reach reach) {

  /**
   * Sends a response on.
   *
   * @param sent whether all of the request has been sent
   */
  void relay(OriginAnswer answer, CacheStatus status, boolean sent) throws IOException {
    var head = answer.head().copy();
    var fields = head.fields();
    Forwarding.strip(fields);
    setAge(fields, answer.age());
    Keeper.addDate(fields, answer.date());
    Forwarding.addVia(fields, answer.head().version(), setup.settings().name);
    fields.add("Cache-Status", status.member(setup.settings().name));
    course.cache = status;
    course.status = head.status();
    course.reached(Point.ANSWER, head.status());
    var body = answer.exchange().body();
    if (body.ended() && body.trailers().count() == 0) {
      exchange.respondByHeadAlone(head);
      return;
    }
    var writer = exchange.respond(head);
    boolean whole = false;
    try {
      copy(answer, writer, sent);
      whole = true;
    } finally {
      if (!whole) {
        writer.abort();
      }
    }
  }

  /** As it is understood here: others may understand one that is malformed in another way. */
  private static void setAge(Fields fields, @Nullable String age) {
    if (age != null) {
      fields.set("Age", age);
    } else if (fields.has("age")) {
      fields.remove("age");
    }
  }

  private void copy(OriginAnswer answer, BodyWriter into, boolean sent) throws IOException {
    var body = answer.exchange().body();
    var piece = Keeper.buffer(body);
    int first = body.read(piece);
    if (sent && body.ended()) {
      var trailers = body.trailers().copy();
      answer.exchange().close(); // Others can use it while the client takes what is here.
      course.bytes += Math.max(0, first);
      into.write(piece.flip());
      into.end(trailers);
      return;
    }
    // It takes the origin's connection until the client has all, so a client that is slow pays
    // when others wait for one.
    var upstreams = proxy.upstreams(reach);
    var pace = upstreams.pace();
    var scope = CancelScope.open();
    try (var _ = upstreams.slowPeers(answer.member().origin).hold(pace, scope::cancel)) {
      scope.run(() -> copy(body, piece, first, into, pace));
    }
  }

  private void copy(BodyReader from, ByteBuffer piece, int first, BodyWriter into, Pace ofClient)
      throws IOException {
    for (int n = first; n >= 0; n = from.read(piece)) {
      course.bytes += n;
      ofClient.waits();
      into.write(piece.flip());
      ofClient.goesOn();
      ofClient.moved(n);
      piece.clear();
    }
    into.end(from.trailers());
  }

  /** From here on it is no HTTP: bytes pass both ways until both sides have ended theirs. */
  void tunnel(OriginAnswer answer) throws IOException {
    var head = answer.head().copy();
    var upgrade = head.fields().get("upgrade");
    Forwarding.strip(head.fields());
    if (upgrade != null) {
      head.fields().set("Connection", "upgrade").set("Upgrade", upgrade);
    }
    Forwarding.addVia(head.fields(), answer.head().version(), setup.settings().name);
    var client = consent(head);
    proxy.count(Count.TUNNELS);
    course.status = 101;
    course.reached(Point.ANSWER, "101");
    Relays.run(proxy.fibers(), client, answer.exchange().tunnel());
  }

  private Tunnel consent(ResponseHead head) throws IOException {
    try {
      if (!exchange.body().ended()) {
        throw new MalformedMessageException("the origin leaves HTTP amid the request");
      }
      return exchange.tunnel(head);
    } catch (MalformedMessageException e) {
      throw OriginFailure.of(e);
    }
  }
}

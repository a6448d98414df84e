package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.evergreen.http.ClientExchange;
import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.http.Origin;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.rules.CacheKey;
import dev.evergreen.proxy.storage.Purge;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.stream.Stream;

/**
 * What the proxy answers by itself, without the cache and, but for a tunnel, without an origin.
 *
 * @param asker who is answered
 */
record OwnAnswers(Asker asker) {

  /** RFC 9110 §9.3.6, by a forward proxy. */
  void tunnel(ForwardRules forward) throws IOException {
    var to = Origin.parse(false, request().target(), -1);
    if (to == null) {
      refuse(400, "a tunnel needs a host and a port");
    } else if (!forward.tunnelPorts().contains(to.port())) {
      refuse(403, "this proxy makes no tunnels to that port");
    } else {
      tunnel(to);
    }
  }

  private void tunnel(Origin to) throws IOException {
    asker.course().reached(Point.ORIGIN_REQUEST, request().target());
    ClientExchange origin;
    try {
      origin = asker.proxy().upstreams(asker.reach()).tunnel(to);
    } catch (IOException e) {
      var failure = OriginFailure.of(e);
      note(failure);
      tell(failure, failure.status());
      return;
    }
    try (origin) {
      asker.proxy().count(Count.TUNNELS);
      asker.course().status = 200;
      asker.course().reached(Point.ANSWER, "200");
      var own = asker.exchange().tunnel(ResponseHead.of(200));
      Relays.run(asker.proxy().fibers(), own, origin.tunnel());
    }
  }

  /** RFC 9110 §9.3.7, §9.3.8: without what a client would not tell everybody. */
  void answerAsLastHop() throws IOException {
    if (request().is("OPTIONS")) {
      respond(204, "", Fields.of());
      return;
    }
    var seen = request().copy();
    seen.fields().remove("authorization").remove("cookie").remove("proxy-authorization");
    respond(200, seen.toString(), Fields.of("Content-Type", "message/http"));
  }

  /** Purges what is stored of the URI, by either scheme, if the client may. */
  void purge() throws IOException {
    if (!mayPurge()) {
      refuse(403, "only clients on this machine may purge, and no pages of other sites");
      return;
    }
    boolean soft = "soft".equals(request().fields().get("purge-mode"));
    asker.proxy().purge(uris(), each -> soft ? Purge.uri(each).softly() : Purge.uri(each));
    respond(200, "purged\n", Fields.of("Content-Type", "text/plain"));
  }

  private List<String> uris() {
    return Stream.of("http", "https")
        .map(scheme -> CacheKey.of(scheme, authority(scheme), request().path()))
        .toList();
  }

  private String authority(String scheme) {
    return CacheKey.normal(scheme, asker.authority());
  }

  /** Where the host is no part of the key, a page of any host could purge what others get. */
  private boolean mayPurge() {
    boolean anyHost = asker.setup().settings().keepHost || asker.setup().settings().forward != null;
    return asker.client().isLocal(request().fields())
        && (anyHost || Orders.nameThisMachine(request()))
        && Orders.areOfSameSite(request(), request().scheme());
  }

  /** RFC 9111 §5.2.1.7. */
  void refuseUncached() throws IOException {
    refuse(504, "the cache has no response that may be used");
    asker.proxy().count(Count.ANSWERED_HERE);
  }

  /**
   * Notes what was wrong with an origin that was asked.
   *
   * @throws OriginFailure if the client has part of an answer, so that it cannot be told any more
   */
  void note(OriginFailure failure) throws OriginFailure {
    asker.course().failure = failure.detail() + ": " + failure.getMessage();
    if (asker.exchange().responded()) {
      throw failure;
    }
    asker.proxy().count(Count.ORIGIN_FAILURES);
  }

  /** Tells the client of that, by the failure's own status or by another. */
  void tell(OriginFailure failure, int status) throws IOException {
    refuse(status, "the origin: " + failure.detail());
  }

  /** Answers by a status and a sentence that says why. */
  void refuse(int status, String why, String... fields) throws IOException {
    respond(status, why + "\n", Fields.of(fields).set("Content-Type", "text/plain"));
  }

  private void respond(int status, String body, Fields fields) throws IOException {
    fields.set("Cache-Control", "no-store").set("Date", HttpDate.format(asker.proxy().date()));
    fields.set("Via", asker.setup().via());
    asker.course().status = status;
    asker.course().reached(Point.ANSWER, status);
    var content = ByteBuffer.wrap(body.getBytes(UTF_8));
    asker.course().bytes += request().is("HEAD") ? 0 : content.remaining();
    asker.exchange().respond(ResponseHead.of(status, fields), content);
  }

  private RequestHead request() {
    return asker.request();
  }
}

package dev.evergreen.web;

import dev.evergreen.json.ResultJson;
import dev.evergreen.live.Present;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;

/** Writes answers, and errors as {@code application/problem+json} (RFC 9457). */
final class Replies {

  /** Of the body of a request that is refused. */
  private static final int MOST_PASSED_OVER = 64 << 10;

  private record Problem(String type, String title, int status, String detail) {}

  private final Guard guard;
  private final WebSettings settings;
  private final Counters counters;
  private final Answers answers;

  Replies(Guard guard, WebSettings settings, Counters counters, Answers answers) {
    this.guard = guard;
    this.settings = settings;
    this.counters = counters;
    this.answers = answers;
  }

  /** Answers whatever others have been answered. */
  void send(Request request, Response response, Callback callback, Reply reply) throws IOException {
    write(request, response, callback, reply, body(reply));
  }

  /**
   * Answers for those payers.
   *
   * @throws WebException 429 or 503 if nothing was to be done but to answer, and there is no room
   */
  void send(Request request, Response response, Callback callback, Reply reply, List<Object> payers)
      throws IOException {
    var body = body(reply);
    hold(request, reply.status(), body, payers);
    write(request, response, callback, reply, body);
  }

  private ByteBuffer body(Reply reply) throws IOException {
    return ByteBuffer.wrap(
        reply.json() == null
            ? reply.body()
            : ResultJson.write(reply.json(), settings.maxResultBytes()));
  }

  private static void write(
      Request request, Response response, Callback callback, Reply reply, ByteBuffer body) {
    var headers = response.getHeaders();
    if (reply.contentType() != null) {
      headers.put(HttpHeader.CONTENT_TYPE, reply.contentType());
    }
    headers.put(HttpHeader.CACHE_CONTROL, "no-store");
    for (var header : reply.headers()) {
      if (header.name().equalsIgnoreCase("Set-Cookie")) {
        headers.add(header.name(), header.value());
      } else {
        headers.put(header.name(), header.value());
      }
    }
    write(request, response, callback, reply.status(), body);
  }

  /** Counts the answer until it has been taken, or its connection has ended. */
  private void hold(Request request, int status, ByteBuffer body, List<Object> payers) {
    int length = isSilent(request, status) ? 0 : body.remaining();
    if (length > 0) {
      if (HttpMethod.GET.is(request.getMethod())) {
        answers.hold(payers, length);
      } else {
        answers.holdDone(payers, length);
      }
      Request.addCompletionListener(request, failure -> answers.giveBack(payers, length));
      var taking = answers.takenBy(Peer.of(request));
      Request.addCompletionListener(request, failure -> taking.close());
    }
  }

  /**
   * Answers with a result.
   *
   * @param payers for whom, as long as they have not taken it
   */
  void present(
      Request request, Response response, Callback callback, Present present, List<Object> payers) {
    var etag = "\"" + present.tag() + "\"";
    var has = matches(request.getHeaders().getValuesList(HttpHeader.IF_NONE_MATCH), etag);
    int status = has ? 304 : 200;
    var body = present.json();
    hold(request, status, body, payers);
    var headers = response.getHeaders();
    headers.put(HttpHeader.ETAG, etag);
    headers.put(HttpHeader.CACHE_CONTROL, "private, no-cache");
    headers.put("Evergreen-Freshness", Messages.freshnessName(present.freshness()));
    headers.put(HttpHeader.CONTENT_TYPE, "application/json");
    write(request, response, callback, status, body);
  }

  private static boolean matches(List<String> ifNoneMatch, String etag) {
    return ifNoneMatch.stream()
        .flatMap(line -> Stream.of(line.split(",", -1)))
        .map(String::strip)
        .anyMatch(tag -> tag.equals("*") || tag.equals(etag) || tag.equals("W/" + etag));
  }

  /** Counts and answers a failure. */
  void refuse(Request request, Response response, Callback callback, WebException why) {
    counters.refused(why.type());
    problem(request, response, callback, why);
  }

  private void problem(Request request, Response response, Callback callback, WebException why) {
    if (response.isCommitted()) {
      callback.failed(why);
      return;
    }
    var headers = response.getHeaders();
    headers.put(HttpHeader.CONTENT_TYPE, "application/problem+json");
    headers.put(HttpHeader.CACHE_CONTROL, "no-store");
    if (why.status() == 429 || why.status() == 503) {
      headers.put(HttpHeader.RETRY_AFTER, WebServer.RETRY_AFTER.toSeconds());
    }
    var problem =
        new Problem(
            why.type(),
            HttpStatus.getMessage(why.status()),
            why.status(),
            String.valueOf(why.getMessage()));
    var body = Json.text(problem).getBytes(StandardCharsets.UTF_8);
    if (!isConsumed(request)) {
      // The connection cannot be used again, and the client must not try to.
      headers.put(HttpHeader.CONNECTION, "close");
    }
    write(request, response, callback, why.status(), ByteBuffer.wrap(body));
  }

  /** Passes over what has come of a request's body; whether that was all. */
  private static boolean isConsumed(Request request) {
    for (int passedOver = 0; passedOver < MOST_PASSED_OVER; ) {
      var chunk = request.read();
      if (chunk == null || Content.Chunk.isFailure(chunk)) {
        return false;
      }
      passedOver += chunk.remaining();
      boolean last = chunk.isLast();
      chunk.release();
      if (last) {
        return true;
      }
    }
    return false;
  }

  private static void write(
      Request request, Response response, Callback callback, int status, ByteBuffer body) {
    response.setStatus(status);
    if (status != 204) {
      // With 304, as with HEAD, it is that of the answer that would have been sent.
      response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.remaining());
    }
    response.write(true, isSilent(request, status) ? ByteBuffer.allocate(0) : body, callback);
  }

  private static boolean isSilent(Request request, int status) {
    return HttpMethod.HEAD.is(request.getMethod()) || status == 304 || status == 204;
  }

  /** Answers what the server below refuses: malformed requests, files that are not there. */
  boolean refuseForServer(Request request, Response response, Callback callback) {
    var status =
        request.getAttribute(ErrorHandler.ERROR_STATUS) instanceof Integer known
            ? known
            : response.getStatus();
    guard.secure(response.getHeaders());
    if (status < 400) {
      // A file that the browser has already is no error, though it is told in the same way.
      write(request, response, callback, status, ByteBuffer.allocate(0));
      return true;
    }
    refuse(request, response, callback, asFailure(status));
    return true;
  }

  static WebException asFailure(int status) {
    var type =
        switch (status) {
          case 505 -> "malformed";
          case 404 -> "not-found";
          case 413, 414, 431 -> "too-large";
          case 408 -> "slow-request";
          default -> status < 500 ? "malformed" : "failed";
        };
    return new WebException(status, type, HttpStatus.getMessage(status) + ".");
  }
}

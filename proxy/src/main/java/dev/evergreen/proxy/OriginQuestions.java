package dev.evergreen.proxy;

import dev.evergreen.http.Exchange;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the origins are asked for one client's request.
 *
 * @param authority the normal form of whom the request is for
 */
record OriginQuestions(
    Proxy proxy,
    Proxy.Setup setup,
    Exchange exchange,
    Client client,
    Course course,
    Reach reach,
    String authority) {

  /** Who may be asked. */
  Origins origins() {
    boolean forward = setup.settings().forward != null;
    var named = forward ? OriginRequests.named(exchange.request()) : null;
    return named == null ? setup.origins() : new Origins(List.of(named));
  }

  /** The client's request as it goes to an origin; a copy. */
  RequestHead request() {
    return of(exchange.request());
  }

  /** Another request as if the client had sent it. */
  RequestHead of(RequestHead request) {
    return OriginRequests.of(request, authority, client, setup);
  }

  /**
   * Asks an origin, and waits for the head of its answer.
   *
   * @throws OriginFailure if none answers
   */
  OriginAnswer ask(RequestHead asked, @Nullable Upload upload) throws IOException {
    course.reached(Point.ORIGIN_REQUEST, authority);
    var answer = proxy.client(reach).ask(origins(), asked, upload, this::inform);
    course.reached(Point.RESPONSE, answer);
    return answer;
  }

  /**
   * The same for this client alone.
   *
   * @throws Leaving.GoneException if it leaves meanwhile
   */
  OriginAnswer askForClient(RequestHead asked) throws IOException {
    return asLongAsClientStays(() -> ask(asked, null));
  }

  /**
   * Does what is for this client alone.
   *
   * @throws Leaving.GoneException if it leaves meanwhile
   */
  <T> T asLongAsClientStays(ScopedValue.CallableOp<T, IOException> action) throws IOException {
    try (var leaving = new Leaving(proxy.fibers(), exchange)) {
      return leaving.call(action);
    }
  }

  /**
   * That the client has left is none of the origin's faults: others may wait for its answer. What
   * comes before a part that is asked for amid the response is nobody's.
   */
  private void inform(ResponseHead head) {
    if (exchange.responded()) {
      return;
    }
    try {
      exchange.inform(head);
    } catch (IOException e) {
      course.failure = String.valueOf(e.getMessage());
    }
  }
}

package dev.evergreen.proxy;

import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the origins are asked for one client's request.
 *
 * @param asker whose request it is
 */
record OriginQuestions(Asker asker) {

  /** Who may be asked. */
  Origins origins() {
    boolean forward = asker.setup().settings().forward != null;
    var named = forward ? OriginRequests.named(asker.request()) : null;
    return named == null ? asker.setup().origins() : new Origins(List.of(named));
  }

  /** The client's request as it goes to an origin; a copy. */
  RequestHead request() {
    return of(asker.request());
  }

  /** Another request as if the client had sent it. */
  RequestHead of(RequestHead request) {
    return OriginRequests.of(request, asker.authority(), asker.client(), asker.setup());
  }

  /**
   * Asks an origin, and waits for the head of its answer.
   *
   * @throws OriginFailure if none answers
   */
  OriginAnswer ask(RequestHead asked, @Nullable Upload upload) throws IOException {
    asker.course().reached(Point.ORIGIN_REQUEST, asker.authority());
    var answer = asker.proxy().client(asker.reach()).ask(origins(), asked, upload, this::inform);
    asker.course().reached(Point.RESPONSE, answer);
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
    try (var leaving = new Leaving(asker.proxy().fibers(), asker.exchange())) {
      return leaving.call(action);
    }
  }

  /**
   * That the client has left is none of the origin's faults: others may wait for its answer. What
   * comes before a part that is asked for amid the response is nobody's.
   */
  private void inform(ResponseHead head) {
    if (asker.exchange().responded()) {
      return;
    }
    try {
      asker.exchange().inform(head);
    } catch (IOException e) {
      asker.course().failure = String.valueOf(e.getMessage());
    }
  }
}

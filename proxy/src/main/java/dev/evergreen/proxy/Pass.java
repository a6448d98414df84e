package dev.evergreen.proxy;

import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.http.Exchange;
import dev.evergreen.http.RequestHead;
import dev.evergreen.proxy.rules.CacheStatus;
import dev.evergreen.proxy.rules.CacheStatus.Forward;
import dev.evergreen.proxy.rules.Reuse;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request that goes to the origin without the cache, with its body and its answer as they come.
 *
 * @param stored what may be the answer where the origin has a failure
 */
record Pass(
    Exchange exchange,
    Course course,
    OriginQuestions origin,
    OwnAnswers own,
    Passage passage,
    Invalidations invalidations,
    Forward why,
    Stored stored) {

  /** What is stored for the request, if anything is. */
  interface Stored {
    /** Whether it may be the answer where the origin has a failure. */
    boolean mayBeUsedAfterFailure() throws IOException;
  }

  /**
   * Asks the origin and answers the client.
   *
   * @return why the client was not answered yet
   * @throws Leaving.GoneException if the client leaves meanwhile
   */
  Optional<OriginFailure> run() throws IOException {
    try (var leaving = new Leaving(passage.proxy().fibers(), exchange)) {
      return leaving.call(() -> run(leaving));
    }
  }

  private Optional<OriginFailure> run(Leaving leaving) throws IOException {
    var asked = origin.request();
    var upload = upload();
    if (upload != null) {
      leaving.during(upload);
      if (upload.awaitsContinue()) {
        // RFC 9110 §10.1.1: the origin decides, not the proxy.
        asked.fields().set("Expect", "100-continue");
      }
    }
    try (var answer = ask(asked, upload)) {
      try {
        return handOn(answer, upload, leaving);
      } finally {
        if (upload != null) {
          upload.stop();
        }
      }
    } catch (OriginFailure e) {
      return Optional.of(e);
    } catch (Upload.HungUpException e) {
      course.failure = String.valueOf(e.getMessage());
      own.refuse(408, "the request's body came too slowly");
      return Optional.empty();
    }
  }

  private OriginAnswer ask(RequestHead asked, @Nullable Upload upload) throws IOException {
    try {
      return origin.ask(asked, upload);
    } catch (WaitCancelledException e) {
      invalidations.unanswered();
      throw e;
    }
  }

  private Optional<OriginFailure> handOn(
      OriginAnswer answer, @Nullable Upload upload, Leaving leaving) throws IOException {
    int status = answer.head().status();
    invalidations.answered(answer.head());
    if (status == 101) {
      leaving.close(); // An end passes through.
      passage.tunnel(answer);
    } else if (OriginRequests.standsForConnect(exchange.request()) && status / 100 == 2) {
      // By HTTP/1.1 that is an answer of the origin's own. By HTTP/2 it would be its consent.
      throw OriginFailure.staysWithHttp(status);
    } else if (Reuse.failure(status) && stored.mayBeUsedAfterFailure()) {
      return Optional.of(OriginFailure.answered(status));
    } else {
      passage.relay(answer, CacheStatus.forwarded(why).withForwardStatus(status), upload == null);
    }
    return Optional.empty();
  }

  private @Nullable Upload upload() {
    var body = exchange.body();
    if (body.ended()) {
      return null;
    }
    var pace = passage.proxy().upstreams(passage.reach()).pace();
    return new Upload(passage.proxy().fibers(), body, exchange.awaitsContinue(), pace);
  }
}

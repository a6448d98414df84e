package dev.evergreen.proxy;

import dev.evergreen.http.RequestHead;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.rules.Conditions;
import dev.evergreen.proxy.rules.Freshening;
import dev.evergreen.proxy.rules.Storing;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * Validates what is stored while clients still get it (RFC 5861 §3): once for all who want the
 * same, by a fiber of its own.
 *
 * @param reach whom it may be for
 * @param origins who may be asked
 * @param request a GET with the fields of that which found it stale
 * @param asked what the origin is asked; it becomes conditional here
 */
record Background(
    Proxy proxy,
    Proxy.Setup setup,
    Reach reach,
    Origins origins,
    RequestHead request,
    RequestHead asked,
    String key) {

  /**
   * Begins, unless it is under way already, or so many others are with the same origins that
   * requests whose clients wait would find no connection. Then it is left to the next client that
   * gets this.
   *
   * @param what the name of the fetch
   */
  void start(String what) {
    // That of the first of them is for all.
    var share = proxy.upstreams(reach).background(origins.members().getFirst().origin);
    if (!share.tryAcquire()) {
      return;
    }
    var fetch = new Fetch();
    if (proxy.fetches().begin(what, fetch) == null) {
      proxy.count(Count.BACKGROUND);
      proxy.fibers().spawn(() -> run(what, fetch, share));
    } else {
      share.release();
    }
  }

  private void run(String what, Fetch fetch, Semaphore share) {
    boolean handedOver = false;
    try (var question = proxy.storage().ask(Proxy.segment(key));
        var found =
            Found.find(proxy.storage(), Proxy.segment(key), new Variants(request.fields()))) {
      if (found != null) {
        handedOver = validate(found, question.stamp(), what, fetch);
      }
    } catch (IOException e) {
      proxy.count(Count.ORIGIN_FAILURES);
    } finally {
      share.release();
      if (!handedOver) {
        fetch.decide(new Fetch.LookAgain());
        proxy.fetches().end(what, fetch);
      }
    }
  }

  /** Says whether the fetch is ended by who stores the new response. */
  private boolean validate(Found found, long stamp, String what, Fetch fetch) throws IOException {
    Conditions.validate(asked.fields(), List.of(found.validators()), found.validators());
    var keeper = new Keeper(proxy, setup, request, key);
    try (var answer = new Held(proxy.client(reach).ask(origins, asked, null, _ -> {}))) {
      if (answer.get().head().status() == 304) {
        freshen(found, answer.get(), keeper, stamp);
        return false;
      }
      var entry = keeper.entry(answer.get(), stamp);
      if (entry != null) {
        proxy.count(Count.STORED);
        fetch.decide(new Fetch.LookAgain());
        var arrival = new Arrival(entry, proxy.storage());
        keeper.receive(what, fetch, answer.handOver(), arrival);
        return true;
      }
      int status = answer.get().head().status();
      answer.letGo();
      if (Storing.tellsOfResource(status) && !keeper.isOwn()) {
        keeper.retire(found, stamp);
      }
      return false;
    }
  }

  private void freshen(Found found, OriginAnswer answer, Keeper keeper, long stamp)
      throws IOException {
    if (!Freshening.chosen(answer.head(), List.of(found.validators())).isEmpty()) {
      proxy.count(Count.FRESHENED);
      var _ = keeper.refresh(found, answer, stamp);
    }
  }
}

package dev.evergreen.proxy;

import dev.evergreen.http.RequestHead;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.rules.Conditions;
import dev.evergreen.proxy.rules.Reuse;
import dev.evergreen.proxy.storage.Recipient;
import java.io.IOException;
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
    var keeper = new Keeper(proxy, setup, request, key);
    var validation = new Validation(proxy, key, keeper);
    validation.condition(asked.fields(), found);
    if (!validation.hasCondition()) {
      return keep(found, stamp, what, fetch, keeper);
    }
    try (var answer = new Held(ask())) {
      if (answer.get().head().status() != 304) {
        return keep(found, answer, stamp, what, fetch, keeper);
      }
      try (var freshened = validation.freshen(found, answer.get(), stamp)) {
        if (freshened != null) {
          return false;
        }
      }
    }
    Conditions.clear(asked.fields()); // It was about nothing that is stored.
    return keep(found, stamp, what, fetch, keeper);
  }

  private OriginAnswer ask() throws IOException {
    return proxy.client(reach).ask(origins, asked, null, _ -> {});
  }

  private boolean keep(Found found, long stamp, String what, Fetch fetch, Keeper keeper)
      throws IOException {
    try (var answer = new Held(ask())) {
      return keep(found, answer, stamp, what, fetch, keeper);
    }
  }

  private boolean keep(
      Found found, Held answer, long stamp, String what, Fetch fetch, Keeper keeper)
      throws IOException {
    int status = answer.get().head().status();
    if (Reuse.failure(status)) {
      return false; // It is as if it had not answered (RFC 9111 §4.3.3).
    }
    var entry = keeper.entry(answer.get(), stamp);
    if (entry != null) {
      proxy.count(Count.STORED);
      fetch.decide(new Fetch.LookAgain());
      var arrival = new Arrival(entry, proxy.storage(), new Recipient());
      keeper.receive(what, fetch, answer.handOver(), arrival);
      return true;
    }
    answer.letGo();
    var _ = keeper.displace(found, status, stamp);
    return false;
  }
}

package dev.evergreen.proxy;

import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.rules.Invalidation;
import java.util.function.Consumer;

/**
 * What a request makes invalid of what is stored (RFC 9111 §4.4), for whomever it is stored: who
 * may ask for less than others may change what these are answered, too.
 *
 * @param uri that of the request, without whom it is for
 */
record Invalidations(Proxy proxy, Proxy.Setup setup, RequestHead request, String uri) {

  /** An origin has answered. */
  void answered(ResponseHead answer) {
    var invalid = Invalidation.of(request, uri, answer);
    for (var each : invalid.keys()) {
      forAll(each, proxy::invalidate);
    }
    for (var group : invalid.groups()) {
      forAll(uri, key -> proxy.invalidateTag(Tags.group(key, group)));
    }
  }

  /**
   * Nobody waits for the answer. Who leaves undoes nothing of what the origin may have done; as
   * that is not known, what is stored has to be validated only.
   */
  void unanswered() {
    for (var each : Invalidation.unanswered(request, uri).keys()) {
      forAll(each, proxy::suspect);
    }
  }

  private void forAll(String each, Consumer<String> action) {
    proxy.count(Count.INVALIDATIONS);
    for (var reach : Reach.all(setup.settings().forward)) {
      action.accept(reach.key(each));
    }
  }
}

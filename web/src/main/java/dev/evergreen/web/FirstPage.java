package dev.evergreen.web;

import dev.evergreen.live.Present;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A page with the results in it that it shows at first. What the caller may not see, what fails and
 * what takes longer than a moment is left out: the page asks for it as it would without.
 */
final class FirstPage {

  private static final Duration WITHIN = Duration.ofMillis(500);
  private static final String HEAD_END = "</head>";

  private final String before;
  private final String after;
  private final Function<Request, List<FirstResult>> wanted;

  FirstPage(String html, Function<Request, List<FirstResult>> wanted) {
    int at = html.indexOf(HEAD_END);
    if (at < 0) {
      throw new IllegalArgumentException("A page has a " + HEAD_END + ", before which results go.");
    }
    this.before = html.substring(0, at);
    this.after = html.substring(at);
    this.wanted = wanted;
  }

  Reply reply(Exchange request, Hub hub) throws InterruptedException {
    var wishes = wanted.apply(request);
    var caller = request.caller();
    var address = request.payer();
    var asked = new ArrayList<Asked>();
    try {
      for (var wish : wishes) {
        var live = acquire(wish, caller, address, hub);
        if (live != null) {
          asked.add(new Asked(wish, live));
        }
      }
      return Reply.html(before + script(asked, request) + after)
          .withHeader("Cache-Control", "private, no-store");
    } finally {
      asked.forEach(one -> hub.release(one.live, caller, address));
    }
  }

  private record Asked(FirstResult wish, WatchedView<?> live) {}

  private static @Nullable WatchedView<?> acquire(
      FirstResult wish, Caller caller, Object address, Hub hub) {
    try {
      var params = Json.treeOf(wish.params());
      return hub.acquire(hub.view(wish.view()), caller, address, params);
    } catch (WebException refused) {
      return null;
    }
  }

  private static String script(List<Asked> asked, Exchange request) throws InterruptedException {
    awaitAll(asked, request);
    var found = asked.stream().map(one -> one.live.present()).toList();
    // Who asks, and what they may, is looked at after the results that it is for.
    var before = request.caller();
    var now = request.callerByNow();
    var results = new ArrayList<String>();
    for (int i = 0; i < found.size(); i++) {
      var present = found.get(i);
      var one = asked.get(i);
      if (present != null && present.error() == null && one.live.allows(before, now)) {
        results.add(result(one.wish, present));
      }
    }
    // In JSON a < stands only in texts; none may end the script.
    return "<script type=\"application/json\" id=\"evergreen-first\">["
        + String.join(",", results).replace("<", "\\u003c")
        + "]</script>";
  }

  private static void awaitAll(List<Asked> asked, Exchange request) throws InterruptedException {
    if (!asked.stream().allMatch(one -> one.live.isReady())) {
      request.leaveFor(() -> awaitAll(asked));
    }
  }

  /** Waits for the results that are not there yet, for a moment. */
  private static void awaitAll(List<Asked> asked) throws InterruptedException {
    long deadline = System.nanoTime() + WITHIN.toNanos();
    for (var one : asked) {
      one.live.awaitFirst(Duration.ofNanos(deadline - System.nanoTime()));
    }
  }

  private static String result(FirstResult wish, Present present) {
    return "{\"view\":"
        + Json.text(wish.view())
        + ",\"params\":"
        + Json.text(Json.treeOf(wish.params()))
        + ",\"tag\":"
        + Json.text(present.tag())
        + ",\"value\":"
        + StandardCharsets.UTF_8.decode(present.json())
        + "}";
  }
}

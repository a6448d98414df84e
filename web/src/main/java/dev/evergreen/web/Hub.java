package dev.evergreen.web;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.core.Node;
import dev.evergreen.json.ResultJson;
import dev.evergreen.live.LiveLimits;
import dev.evergreen.live.LiveResults;
import dev.evergreen.live.Present;
import dev.evergreen.live.RefusedException;
import dev.evergreen.live.Rendering;
import dev.evergreen.live.UnwritableException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The views of this server, and the computations that are live: one for each view and parameters
 * (and caller, where the view depends on it).
 */
final class Hub {

  /**
   * To open a WebSocket, or a stream, takes as much work as ten short results, each of which counts
   * 1: a head is read and checked, a caller authenticated, a hello written. So does the begin or
   * end of a session: a grain remembers for long whether it was ended.
   */
  static final int WORK_OF_OPENING = 10;

  /** So much is paid for in one go: others of the address wait for that in turn. */
  static final int MOST_WORK_AT_A_TIME = WORK_OF_OPENING;

  /** So much of a body takes as much work as a short result; a shorter one is none beside. */
  static final int BODY_BYTES_OF_WORK = 1 << 10;

  /** Shorter results fit into one packet anyway. */
  private static final int WORTH_COMPRESSING = 1024;

  private final Map<String, LiveView<?>> views;
  private final WebSettings settings;
  private final Failures failures;
  private final LiveResults<WatchedView<?>> live;

  Hub(Node node, Map<String, LiveView<?>> views, WebSettings settings, Failures failures) {
    this.views = views;
    this.settings = settings;
    this.failures = failures;
    this.live = new LiveResults<>(node, limits(settings), new AsMessages(failures));
  }

  private static LiveLimits limits(WebSettings settings) {
    return new LiveLimits(
        settings.maxViews(),
        settings.maxViewsPerAddress(),
        settings.maxNewViewsPerSecond(),
        settings.maxWorkPerSecond(),
        settings.maxHeldBytes(),
        settings.maxHeldBytesPerAddress(),
        settings.keepViewFor());
  }

  /** Results as parts of the messages of {@code docs/web-protocol.md}. */
  record AsMessages(Failures failures) implements Rendering {

    @Override
    public byte[] tail() {
      return Messages.TAIL;
    }

    @Override
    public WebException told(String name, Exception failure) {
      return switch (failure) {
        case RefusedException refused -> refusal(refused.reason());
        case UnwritableException unwritable
            when unwritable.why() instanceof ResultJson.TooLargeException ->
            new WebException(
                500, "result-too-large", "The result is larger than the server sends.");
        case UnwritableException unwritable -> failures.tell("View " + name, unwritable.why());
        default -> failures.tell("View " + name, failure);
      };
    }

    @Override
    public byte[] bytes(Exception told) {
      return Messages.error((WebException) told).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte @Nullable [] shorter(Present result) {
      return SharedDeflate.deflate(Messages.messageTail(result));
    }
  }

  private static WebException refusal(RefusedException.Reason reason) {
    return switch (reason) {
      case CLOSED -> Failures.stopped();
      case TOO_MANY_NEW ->
          new WebException(
              429, "too-many-new-views", "Too many new views are asked for from your address.");
      case TOO_MANY_OF_PAYER ->
          new WebException(
              503, "too-many-from-address", "Too much is being watched from your address.");
      case TOO_MANY ->
          new WebException(503, "too-many-views", "Too much is being watched; try again later.");
      case TOO_LONG_OF_PAYER ->
          new WebException(
              429, "too-many-bytes", "What is being watched from your address is too large.");
      case TOO_LONG ->
          new WebException(
              503, "too-many-bytes", "What is being watched is too large; try again later.");
    };
  }

  /**
   * The view of this name.
   *
   * @throws WebException 404 if there is none
   */
  LiveView<?> view(String name) {
    var view = views.get(name);
    if (view == null) {
      throw new WebException(404, "no-such-view", "There is no view of this name.");
    }
    return view;
  }

  boolean has(String name) {
    return views.containsKey(name);
  }

  /**
   * The live computation for these parameters, after the check that the caller may see it. Give it
   * back with {@link #release}.
   *
   * @param address of the peer; a computation that must be made counts towards its share, and
   *     towards the caller's, and so may one that others no longer pay for
   * @throws WebException 400, 401, 403 or 503
   */
  <P extends Record> WatchedView<P> acquire(
      LiveView<P> view, Caller caller, Object address, JsonNode params) {
    var decoded = Json.decode(params, view.paramsType());
    Refusals.require(view.allows(caller, decoded, failures), caller);
    return acquire(view, caller.payers(address), ViewKey.of(view, caller, decoded));
  }

  /**
   * Whether a connection that watches so many views may watch one more.
   *
   * @throws WebException 429 if not
   */
  void checkRoom(int subscriptions) {
    if (subscriptions >= settings.maxSubscriptions()) {
      throw new WebException(
          429,
          "too-many-subscriptions",
          "One connection watches at most " + settings.maxSubscriptions() + " views.");
    }
  }

  private <P extends Record> WatchedView<P> acquire(LiveView<P> view, List<?> payers, ViewKey key) {
    try {
      @SuppressWarnings("unchecked") // The key begins with the view's name, and so fixes P.
      var found =
          (WatchedView<P>)
              live.acquire(
                  key.text(),
                  payers,
                  () ->
                      new WatchedView<>(
                          view, key, payers, live, failures, settings.maxResultBytes()));
      return found;
    } catch (RefusedException e) {
      throw refusal(e.reason());
    }
  }

  /**
   * Has these pay for work that is about to be done for them.
   *
   * @return in how many nanoseconds it is their turn; they wait, so that nobody else does, and
   *     nothing is refused
   */
  long pay(List<?> payers, int work) {
    return live.pay(payers, work);
  }

  /** What ends a message with this result, compressed; null if it is sent as it is. */
  byte @Nullable [] compressed(Present present) {
    return present.length() < WORTH_COMPRESSING ? null : live.shorter(present);
  }

  /** Ends the use that this caller has made from this address. */
  void release(WatchedView<?> view, Caller caller, Object address) {
    live.release(view, caller.payers(address));
  }

  void sweep() {
    live.sweep();
  }

  long heldBytes() {
    return live.heldBytes();
  }

  long written() {
    return live.written();
  }

  long waits() {
    return live.waits();
  }

  int size() {
    return live.size();
  }

  void close() {
    live.close();
  }
}

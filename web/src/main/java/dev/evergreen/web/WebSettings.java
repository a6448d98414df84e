package dev.evergreen.web;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * Every limit of a web server. Start from {@link #DEFAULT} and change what you must.
 *
 * @param maxConnections open connections; more are answered 503 and closed
 * @param maxConnectionsPerAddress open connections of one address; name the reverse proxies that
 *     stand before the server ({@link WebServer.Builder#behind}), or each is one address
 * @param maxRequests requests that are worked on at a time; more are answered 503. An address is
 *     given one more while it has fewer of them than are free
 * @param maxSubscriptions views that one WebSocket may watch
 * @param maxViews distinct live computations
 * @param maxViewsPerAddress those that were made for one address, or for one who has signed in;
 *     raise it as the limit of connections of one address
 * @param maxNewViewsPerSecond how many may be made for one address, or for one who has signed in,
 *     on average over a minute; raise it as the limit of connections of one address
 * @param maxWorkPerSecond how much is done for one address, or for one who has signed in, on
 *     average over ten seconds: results of views that are made, messages over WebSockets and their
 *     opening, and long bodies. Who has had more done waits: nothing is refused, and results come
 *     later. Raise it as the limit of connections of one address
 * @param maxMessageBytes the most bytes of a message or body from a client; each ten KiB of a body
 *     wait for a turn where an address asks for much
 * @param maxMessagesPerSecond how fast one WebSocket may send, on average over ten seconds
 * @param maxHeaderBytes the most bytes of a request's line and headers
 * @param maxResultBytes the most bytes of one result as JSON; a larger one is an error
 * @param maxHeldBytes of all results together, equal ones once; 256 MiB by default, or a quarter of
 *     the heap if that is less
 * @param maxHeldBytesPerAddress of results that were made for one address, or for one who has
 *     signed in; raise it as the limit of connections of one address
 * @param maxAnswerBytes of all answers that clients have not taken yet, those of views, routes and
 *     commands; as much as {@code maxHeldBytes} by default. Beyond it the slowest are cut, after a
 *     fifth of {@code stallAfter}, and newcomers refused
 * @param maxAnswerBytesPerAddress of those to one address, or to one who has signed in; a single
 *     answer may be larger. Raise it as the limit of connections of one address
 * @param minBytesPerSecond a connection that takes less of what is written to it than this is cut;
 *     {@code stallAfter} is its respite. One that takes more than a third of it may be spared
 * @param maxBytesPerSecond how much of results one live connection is sent, on average over ten
 *     seconds; it skips those that are replaced meanwhile
 * @param heartbeatEvery how often a live connection is written to when there is nothing to say
 * @param silenceAfter a WebSocket that sends nothing for so long is cut
 * @param stallAfter a connection that takes nothing of what is written to it for so long is cut
 * @param requestWithin how long a client may take to send a request; a body up to a quarter longer
 * @param firstResultWithin how long a plain GET waits for a view's first result
 * @param keepViewFor how long a computation goes on after the last one who looked has left
 * @param callerDoubtFor how long a live connection goes on at most, and for three quarters of it at
 *     least, while it cannot be found out whether its caller still is who it was, as the grain that
 *     knows is not reached
 */
public record WebSettings(
    int maxConnections,
    int maxConnectionsPerAddress,
    int maxRequests,
    int maxSubscriptions,
    int maxViews,
    int maxViewsPerAddress,
    int maxNewViewsPerSecond,
    int maxWorkPerSecond,
    int maxMessageBytes,
    int maxMessagesPerSecond,
    int maxHeaderBytes,
    int maxResultBytes,
    int maxHeldBytes,
    int maxHeldBytesPerAddress,
    int maxAnswerBytes,
    int maxAnswerBytesPerAddress,
    int minBytesPerSecond,
    int maxBytesPerSecond,
    Duration heartbeatEvery,
    Duration silenceAfter,
    Duration stallAfter,
    Duration requestWithin,
    Duration firstResultWithin,
    Duration keepViewFor,
    Duration callerDoubtFor) {

  /** What is right for most. */
  public static final WebSettings DEFAULT =
      new WebSettings(
          10_000,
          500,
          2_000,
          100,
          10_000,
          2_500,
          50,
          400,
          16 << 10,
          20,
          8 << 10,
          4 << 20,
          (int) Math.min(256 << 20, Runtime.getRuntime().maxMemory() / 4),
          32 << 20,
          (int) Math.min(256 << 20, Runtime.getRuntime().maxMemory() / 4),
          32 << 20,
          4 << 10,
          2 << 20,
          Duration.ofSeconds(15),
          Duration.ofSeconds(45),
          Duration.ofSeconds(10),
          Duration.ofSeconds(10),
          Duration.ofSeconds(5),
          Duration.ofSeconds(10),
          Duration.ofMinutes(2));

  public WebSettings {
    positive("maxConnections", maxConnections);
    positive("maxConnectionsPerAddress", maxConnectionsPerAddress);
    positive("maxRequests", maxRequests);
    positive("maxSubscriptions", maxSubscriptions);
    positive("maxViews", maxViews);
    positive("maxViewsPerAddress", maxViewsPerAddress);
    positive("maxNewViewsPerSecond", maxNewViewsPerSecond);
    positive("maxWorkPerSecond", maxWorkPerSecond);
    positive("maxMessageBytes", maxMessageBytes);
    positive("maxMessagesPerSecond", maxMessagesPerSecond);
    positive("maxHeaderBytes", maxHeaderBytes);
    positive("maxResultBytes", maxResultBytes);
    positive("maxHeldBytes", maxHeldBytes);
    positive("maxHeldBytesPerAddress", maxHeldBytesPerAddress);
    positive("maxAnswerBytes", maxAnswerBytes);
    positive("maxAnswerBytesPerAddress", maxAnswerBytesPerAddress);
    positive("minBytesPerSecond", minBytesPerSecond);
    positive("maxBytesPerSecond", maxBytesPerSecond);
    positive("heartbeatEvery", heartbeatEvery.toNanos());
    positive("silenceAfter", silenceAfter.toNanos());
    positive("stallAfter", stallAfter.toNanos());
    positive("requestWithin", requestWithin.toNanos());
    positive("firstResultWithin", firstResultWithin.toNanos());
    positive("keepViewFor", keepViewFor.toNanos());
    positive("callerDoubtFor", callerDoubtFor.toNanos());
  }

  private static void positive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(
          "The setting " + name + " must be positive, not " + value + ".");
    }
  }

  /** These settings with another {@code maxConnections}. */
  public WebSettings withMaxConnections(int value) {
    return with(copy -> copy.maxConnections = value);
  }

  /** These settings with another {@code maxConnectionsPerAddress}. */
  public WebSettings withMaxConnectionsPerAddress(int value) {
    return with(copy -> copy.maxConnectionsPerAddress = value);
  }

  /** These settings with another {@code maxRequests}. */
  public WebSettings withMaxRequests(int value) {
    return with(copy -> copy.maxRequests = value);
  }

  /** These settings with another {@code maxSubscriptions}. */
  public WebSettings withMaxSubscriptions(int value) {
    return with(copy -> copy.maxSubscriptions = value);
  }

  /** These settings with another {@code maxViews}. */
  public WebSettings withMaxViews(int value) {
    return with(copy -> copy.maxViews = value);
  }

  /** These settings with another {@code maxViewsPerAddress}. */
  public WebSettings withMaxViewsPerAddress(int value) {
    return with(copy -> copy.maxViewsPerAddress = value);
  }

  /** These settings with another {@code maxNewViewsPerSecond}. */
  public WebSettings withMaxNewViewsPerSecond(int value) {
    return with(copy -> copy.maxNewViewsPerSecond = value);
  }

  /** These settings with another {@code maxWorkPerSecond}. */
  public WebSettings withMaxWorkPerSecond(int value) {
    return with(copy -> copy.maxWorkPerSecond = value);
  }

  /** These settings with another {@code maxMessageBytes}. */
  public WebSettings withMaxMessageBytes(int value) {
    return with(copy -> copy.maxMessageBytes = value);
  }

  /** These settings with another {@code maxMessagesPerSecond}. */
  public WebSettings withMaxMessagesPerSecond(int value) {
    return with(copy -> copy.maxMessagesPerSecond = value);
  }

  /** These settings with another {@code maxHeaderBytes}. */
  public WebSettings withMaxHeaderBytes(int value) {
    return with(copy -> copy.maxHeaderBytes = value);
  }

  /** These settings with another {@code maxResultBytes}. */
  public WebSettings withMaxResultBytes(int value) {
    return with(copy -> copy.maxResultBytes = value);
  }

  /** These settings with another {@code maxHeldBytes}. */
  public WebSettings withMaxHeldBytes(int value) {
    return with(copy -> copy.maxHeldBytes = value);
  }

  /** These settings with another {@code maxHeldBytesPerAddress}. */
  public WebSettings withMaxHeldBytesPerAddress(int value) {
    return with(copy -> copy.maxHeldBytesPerAddress = value);
  }

  /** These settings with another {@code maxAnswerBytes}. */
  public WebSettings withMaxAnswerBytes(int value) {
    return with(copy -> copy.maxAnswerBytes = value);
  }

  /** These settings with another {@code maxAnswerBytesPerAddress}. */
  public WebSettings withMaxAnswerBytesPerAddress(int value) {
    return with(copy -> copy.maxAnswerBytesPerAddress = value);
  }

  /** These settings with another {@code minBytesPerSecond}. */
  public WebSettings withMinBytesPerSecond(int value) {
    return with(copy -> copy.minBytesPerSecond = value);
  }

  /** These settings with another {@code maxBytesPerSecond}. */
  public WebSettings withMaxBytesPerSecond(int value) {
    return with(copy -> copy.maxBytesPerSecond = value);
  }

  /** These settings with another {@code heartbeatEvery}. */
  public WebSettings withHeartbeatEvery(Duration value) {
    return with(copy -> copy.heartbeatEvery = value);
  }

  /** These settings with another {@code silenceAfter}. */
  public WebSettings withSilenceAfter(Duration value) {
    return with(copy -> copy.silenceAfter = value);
  }

  /** These settings with another {@code stallAfter}. */
  public WebSettings withStallAfter(Duration value) {
    return with(copy -> copy.stallAfter = value);
  }

  /** These settings with another {@code requestWithin}. */
  public WebSettings withRequestWithin(Duration value) {
    return with(copy -> copy.requestWithin = value);
  }

  /** These settings with another {@code firstResultWithin}. */
  public WebSettings withFirstResultWithin(Duration value) {
    return with(copy -> copy.firstResultWithin = value);
  }

  /** These settings with another {@code keepViewFor}. */
  public WebSettings withKeepViewFor(Duration value) {
    return with(copy -> copy.keepViewFor = value);
  }

  /** These settings with another {@code callerDoubtFor}. */
  public WebSettings withCallerDoubtFor(Duration value) {
    return with(copy -> copy.callerDoubtFor = value);
  }

  private WebSettings with(Consumer<Copy> change) {
    var copy = new Copy(this);
    change.accept(copy);
    return copy.settings();
  }

  /** Settings on their way to others. */
  private static final class Copy {
    int maxConnections;
    int maxConnectionsPerAddress;
    int maxRequests;
    int maxSubscriptions;
    int maxViews;
    int maxViewsPerAddress;
    int maxNewViewsPerSecond;
    int maxWorkPerSecond;
    int maxMessageBytes;
    int maxMessagesPerSecond;
    int maxHeaderBytes;
    int maxResultBytes;
    int maxHeldBytes;
    int maxHeldBytesPerAddress;
    int maxAnswerBytes;
    int maxAnswerBytesPerAddress;
    int minBytesPerSecond;
    int maxBytesPerSecond;
    Duration heartbeatEvery;
    Duration silenceAfter;
    Duration stallAfter;
    Duration requestWithin;
    Duration firstResultWithin;
    Duration keepViewFor;
    Duration callerDoubtFor;

    Copy(WebSettings from) {
      maxConnections = from.maxConnections;
      maxConnectionsPerAddress = from.maxConnectionsPerAddress;
      maxRequests = from.maxRequests;
      maxSubscriptions = from.maxSubscriptions;
      maxViews = from.maxViews;
      maxViewsPerAddress = from.maxViewsPerAddress;
      maxNewViewsPerSecond = from.maxNewViewsPerSecond;
      maxWorkPerSecond = from.maxWorkPerSecond;
      maxMessageBytes = from.maxMessageBytes;
      maxMessagesPerSecond = from.maxMessagesPerSecond;
      maxHeaderBytes = from.maxHeaderBytes;
      maxResultBytes = from.maxResultBytes;
      maxHeldBytes = from.maxHeldBytes;
      maxHeldBytesPerAddress = from.maxHeldBytesPerAddress;
      maxAnswerBytes = from.maxAnswerBytes;
      maxAnswerBytesPerAddress = from.maxAnswerBytesPerAddress;
      minBytesPerSecond = from.minBytesPerSecond;
      maxBytesPerSecond = from.maxBytesPerSecond;
      heartbeatEvery = from.heartbeatEvery;
      silenceAfter = from.silenceAfter;
      stallAfter = from.stallAfter;
      requestWithin = from.requestWithin;
      firstResultWithin = from.firstResultWithin;
      keepViewFor = from.keepViewFor;
      callerDoubtFor = from.callerDoubtFor;
    }

    WebSettings settings() {
      return new WebSettings(
          maxConnections,
          maxConnectionsPerAddress,
          maxRequests,
          maxSubscriptions,
          maxViews,
          maxViewsPerAddress,
          maxNewViewsPerSecond,
          maxWorkPerSecond,
          maxMessageBytes,
          maxMessagesPerSecond,
          maxHeaderBytes,
          maxResultBytes,
          maxHeldBytes,
          maxHeldBytesPerAddress,
          maxAnswerBytes,
          maxAnswerBytesPerAddress,
          minBytesPerSecond,
          maxBytesPerSecond,
          heartbeatEvery,
          silenceAfter,
          stallAfter,
          requestWithin,
          firstResultWithin,
          keepViewFor,
          callerDoubtFor);
    }
  }
}

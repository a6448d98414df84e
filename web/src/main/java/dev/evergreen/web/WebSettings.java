package dev.evergreen.web;

import java.time.Duration;

/**
 * Every limit of a web server. Start from {@link #builder} and change what you must.
 *
 * @param maxConnections open connections; more are answered 503 and closed
 * @param maxConnectionsPerAddress open connections of one address; name the reverse proxies that
 *     stand before the server ({@link WebServer.Builder#behind}), or each is one address
 * @param maxRequests requests that are worked on at a time; more are answered 503
 * @param maxSubscriptions views that one WebSocket may watch
 * @param maxViews distinct live computations
 * @param maxViewsPerAddress those that were made for one address, or for one who has signed in;
 *     raise it as the limit of connections of one address
 * @param maxNewViewsPerSecond how many may be made for one address, or for one who has signed in,
 *     on average over a minute; raise it as the limit of connections of one address
 * @param maxMessageBytes the most bytes of a message or body from a client
 * @param maxMessagesPerSecond how fast one WebSocket may send, on average over ten seconds
 * @param maxHeaderBytes the most bytes of a request's line and headers
 * @param maxResultBytes the most bytes of one result as JSON; a larger one is an error
 * @param maxHeldBytes of all results together, equal ones once; 256 MiB by default, or a quarter of
 *     the heap if that is less
 * @param maxHeldBytesPerAddress of results that were made for one address, or for one who has
 *     signed in; raise it as the limit of connections of one address
 * @param minBytesPerSecond a connection that takes less of what is written to it than this, on
 *     average since it last had taken all, is cut; {@code stallAfter} is its respite
 * @param maxBytesPerSecond how much of results one live connection is sent, on average over ten
 *     seconds; it skips those that are replaced meanwhile
 * @param heartbeatEvery how often a live connection is written to when there is nothing to say
 * @param silenceAfter a WebSocket that sends nothing for so long is cut
 * @param stallAfter a connection that takes nothing of what is written to it for so long is cut
 * @param requestWithin how long a client may take to send a request
 * @param firstResultWithin how long a plain GET waits for a view's first result
 * @param keepViewFor how long a computation goes on after the last one who looked has left
 */
public record WebSettings(
    int maxConnections,
    int maxConnectionsPerAddress,
    int maxRequests,
    int maxSubscriptions,
    int maxViews,
    int maxViewsPerAddress,
    int maxNewViewsPerSecond,
    int maxMessageBytes,
    int maxMessagesPerSecond,
    int maxHeaderBytes,
    int maxResultBytes,
    int maxHeldBytes,
    int maxHeldBytesPerAddress,
    int minBytesPerSecond,
    int maxBytesPerSecond,
    Duration heartbeatEvery,
    Duration silenceAfter,
    Duration stallAfter,
    Duration requestWithin,
    Duration firstResultWithin,
    Duration keepViewFor) {

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
          16 << 10,
          20,
          8 << 10,
          4 << 20,
          (int) Math.min(256 << 20, Runtime.getRuntime().maxMemory() / 4),
          32 << 20,
          4 << 10,
          2 << 20,
          Duration.ofSeconds(15),
          Duration.ofSeconds(45),
          Duration.ofSeconds(10),
          Duration.ofSeconds(10),
          Duration.ofSeconds(5),
          Duration.ofSeconds(10));

  public WebSettings {
    positive("maxConnections", maxConnections);
    positive("maxConnectionsPerAddress", maxConnectionsPerAddress);
    positive("maxRequests", maxRequests);
    positive("maxSubscriptions", maxSubscriptions);
    positive("maxViews", maxViews);
    positive("maxViewsPerAddress", maxViewsPerAddress);
    positive("maxNewViewsPerSecond", maxNewViewsPerSecond);
    positive("maxMessageBytes", maxMessageBytes);
    positive("maxMessagesPerSecond", maxMessagesPerSecond);
    positive("maxHeaderBytes", maxHeaderBytes);
    positive("maxResultBytes", maxResultBytes);
    positive("maxHeldBytes", maxHeldBytes);
    positive("maxHeldBytesPerAddress", maxHeldBytesPerAddress);
    positive("minBytesPerSecond", minBytesPerSecond);
    positive("maxBytesPerSecond", maxBytesPerSecond);
    positive("heartbeatEvery", heartbeatEvery.toNanos());
    positive("silenceAfter", silenceAfter.toNanos());
    positive("stallAfter", stallAfter.toNanos());
    positive("requestWithin", requestWithin.toNanos());
    positive("firstResultWithin", firstResultWithin.toNanos());
    positive("keepViewFor", keepViewFor.toNanos());
  }

  private static void positive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(
          "The setting " + name + " must be positive, not " + value + ".");
    }
  }

  /** Starts from {@link #DEFAULT}. */
  public static Builder builder() {
    return new Builder(DEFAULT);
  }

  /** Starts from these. */
  Builder with() {
    return new Builder(this);
  }

  /** Changes some of the settings; each method is named as the setting it changes. */
  public static final class Builder {

    private int maxConnections;
    private int maxConnectionsPerAddress;
    private int maxRequests;
    private int maxSubscriptions;
    private int maxViews;
    private int maxViewsPerAddress;
    private int maxNewViewsPerSecond;
    private int maxMessageBytes;
    private int maxMessagesPerSecond;
    private int maxHeaderBytes;
    private int maxResultBytes;
    private int maxHeldBytes;
    private int maxHeldBytesPerAddress;
    private int minBytesPerSecond;
    private int maxBytesPerSecond;
    private Duration heartbeatEvery;
    private Duration silenceAfter;
    private Duration stallAfter;
    private Duration requestWithin;
    private Duration firstResultWithin;
    private Duration keepViewFor;

    private Builder(WebSettings from) {
      maxConnections = from.maxConnections;
      maxConnectionsPerAddress = from.maxConnectionsPerAddress;
      maxRequests = from.maxRequests;
      maxSubscriptions = from.maxSubscriptions;
      maxViews = from.maxViews;
      maxViewsPerAddress = from.maxViewsPerAddress;
      maxNewViewsPerSecond = from.maxNewViewsPerSecond;
      maxMessageBytes = from.maxMessageBytes;
      maxMessagesPerSecond = from.maxMessagesPerSecond;
      maxHeaderBytes = from.maxHeaderBytes;
      maxResultBytes = from.maxResultBytes;
      maxHeldBytes = from.maxHeldBytes;
      maxHeldBytesPerAddress = from.maxHeldBytesPerAddress;
      minBytesPerSecond = from.minBytesPerSecond;
      maxBytesPerSecond = from.maxBytesPerSecond;
      heartbeatEvery = from.heartbeatEvery;
      silenceAfter = from.silenceAfter;
      stallAfter = from.stallAfter;
      requestWithin = from.requestWithin;
      firstResultWithin = from.firstResultWithin;
      keepViewFor = from.keepViewFor;
    }

    /** Sets {@link WebSettings#maxConnections}. */
    public Builder maxConnections(int value) {
      maxConnections = value;
      return this;
    }

    /** Sets {@link WebSettings#maxConnectionsPerAddress}. */
    public Builder maxConnectionsPerAddress(int value) {
      maxConnectionsPerAddress = value;
      return this;
    }

    /** Sets {@link WebSettings#maxRequests}. */
    public Builder maxRequests(int value) {
      maxRequests = value;
      return this;
    }

    /** Sets {@link WebSettings#maxSubscriptions}. */
    public Builder maxSubscriptions(int value) {
      maxSubscriptions = value;
      return this;
    }

    /** Sets {@link WebSettings#maxViews}. */
    public Builder maxViews(int value) {
      maxViews = value;
      return this;
    }

    /** Sets {@link WebSettings#maxViewsPerAddress}. */
    public Builder maxViewsPerAddress(int value) {
      maxViewsPerAddress = value;
      return this;
    }

    /** Sets {@link WebSettings#maxNewViewsPerSecond}. */
    public Builder maxNewViewsPerSecond(int value) {
      maxNewViewsPerSecond = value;
      return this;
    }

    /** Sets {@link WebSettings#maxMessageBytes}. */
    public Builder maxMessageBytes(int value) {
      maxMessageBytes = value;
      return this;
    }

    /** Sets {@link WebSettings#maxMessagesPerSecond}. */
    public Builder maxMessagesPerSecond(int value) {
      maxMessagesPerSecond = value;
      return this;
    }

    /** Sets {@link WebSettings#maxHeaderBytes}. */
    public Builder maxHeaderBytes(int value) {
      maxHeaderBytes = value;
      return this;
    }

    /** Sets {@link WebSettings#maxResultBytes}. */
    public Builder maxResultBytes(int value) {
      maxResultBytes = value;
      return this;
    }

    /** Sets {@link WebSettings#maxHeldBytes}. */
    public Builder maxHeldBytes(int value) {
      maxHeldBytes = value;
      return this;
    }

    /** Sets {@link WebSettings#maxHeldBytesPerAddress}. */
    public Builder maxHeldBytesPerAddress(int value) {
      maxHeldBytesPerAddress = value;
      return this;
    }

    /** Sets {@link WebSettings#minBytesPerSecond}. */
    public Builder minBytesPerSecond(int value) {
      minBytesPerSecond = value;
      return this;
    }

    /** Sets {@link WebSettings#maxBytesPerSecond}. */
    public Builder maxBytesPerSecond(int value) {
      maxBytesPerSecond = value;
      return this;
    }

    /** Sets {@link WebSettings#heartbeatEvery}. */
    public Builder heartbeatEvery(Duration value) {
      heartbeatEvery = value;
      return this;
    }

    /** Sets {@link WebSettings#silenceAfter}. */
    public Builder silenceAfter(Duration value) {
      silenceAfter = value;
      return this;
    }

    /** Sets {@link WebSettings#stallAfter}. */
    public Builder stallAfter(Duration value) {
      stallAfter = value;
      return this;
    }

    /** Sets {@link WebSettings#requestWithin}. */
    public Builder requestWithin(Duration value) {
      requestWithin = value;
      return this;
    }

    /** Sets {@link WebSettings#firstResultWithin}. */
    public Builder firstResultWithin(Duration value) {
      firstResultWithin = value;
      return this;
    }

    /** Sets {@link WebSettings#keepViewFor}. */
    public Builder keepViewFor(Duration value) {
      keepViewFor = value;
      return this;
    }

    /**
     * The settings.
     *
     * @throws IllegalArgumentException if a number or duration is not positive
     */
    public WebSettings build() {
      return new WebSettings(
          maxConnections,
          maxConnectionsPerAddress,
          maxRequests,
          maxSubscriptions,
          maxViews,
          maxViewsPerAddress,
          maxNewViewsPerSecond,
          maxMessageBytes,
          maxMessagesPerSecond,
          maxHeaderBytes,
          maxResultBytes,
          maxHeldBytes,
          maxHeldBytesPerAddress,
          minBytesPerSecond,
          maxBytesPerSecond,
          heartbeatEvery,
          silenceAfter,
          stallAfter,
          requestWithin,
          firstResultWithin,
          keepViewFor);
    }
  }
}

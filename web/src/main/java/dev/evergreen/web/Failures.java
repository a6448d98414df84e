package dev.evergreen.web;

import dev.evergreen.core.ComputationFailedException;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** Turns exceptions into what a browser may know of them, and tells the log the rest. */
final class Failures {

  /** The type of the failure of everything when the node or the server stops. */
  static final String STOPPED = "stopped";

  /** How often each kind of failure is logged. */
  static final long LOG_EVERY_NANOS = 10_000_000_000L;

  /** More kinds than these share one rate. */
  static final int MOST_KINDS = 100;

  private static final Logger LOG = System.getLogger(Failures.class.getName());

  /** What failed, in words that no client chooses, and how. */
  private record Kind(String what, Class<?> failure) {}

  private static final Kind ANY_OTHER = new Kind("", Throwable.class);

  /** The rate of one kind; guarded by itself. */
  private static final class Rate {
    private long loggedAtNanos;
    private long leftOut;

    Rate(long now) {
      loggedAtNanos = now - LOG_EVERY_NANOS;
    }
  }

  private final Function<Exception, Optional<WebException>> mapping;
  private final LongSupplier nanoTime;
  private final Map<Kind, Rate> rates = new ConcurrentHashMap<>();

  Failures(Function<Exception, Optional<WebException>> mapping) {
    this(mapping, System::nanoTime);
  }

  /** With another clock. */
  Failures(Function<Exception, Optional<WebException>> mapping, LongSupplier nanoTime) {
    this.mapping = mapping;
    this.nanoTime = nanoTime;
  }

  /**
   * The same failure with a status and a message for strangers.
   *
   * @param what what failed, for the log, such as {@code "View timeline"}; never a client's words
   */
  WebException tell(String what, Throwable failure) {
    var cause = failure;
    while (cause instanceof ComputationFailedException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof WebException known) {
      return known;
    }
    if (cause instanceof Exception exception) {
      var told = mapped(exception);
      if (told.isPresent()) {
        return told.get();
      }
    }
    var own = own(cause);
    if (own.status() == 500) {
      log(what + " failed; browsers are told nothing of the inside.", cause);
    }
    return own;
  }

  private Optional<WebException> mapped(Exception failure) {
    try {
      return mapping.apply(failure);
    } catch (Throwable e) {
      log("The mapping of failures failed.", e);
      return Optional.empty();
    }
  }

  static WebException stopped() {
    return new WebException(503, STOPPED, "The server is stopping; try again.");
  }

  private static WebException own(Throwable cause) {
    return switch (cause) {
      case NodeStoppedException stopped -> stopped();
      case NotStartedException moved ->
          new WebException(503, "unavailable", "This cannot be reached at the moment; try again.");
      case OutcomeUnknownException timeout ->
          new WebException(504, "timeout", "No answer came in time.");
      default -> new WebException(500, "failed", "Something went wrong in the server.");
    };
  }

  /**
   * Logs each kind of failure at most once in ten seconds, so that a client cannot fill a disk, and
   * with it how many of the kind were left out since the last.
   *
   * @param what a sentence that no client has a part in; with the failure's class it is the kind
   */
  void log(String what, Throwable failure) {
    long now = nanoTime.getAsLong();
    var rate = rate(new Kind(what, failure.getClass()), now);
    long leftOut;
    synchronized (rate) {
      if (now - rate.loggedAtNanos < LOG_EVERY_NANOS) {
        rate.leftOut++;
        return;
      }
      leftOut = rate.leftOut;
      rate.loggedAtNanos = now;
      rate.leftOut = 0;
    }
    var others = leftOut == 0 ? "" : " %,d more like it were not logged.".formatted(leftOut);
    LOG.log(Level.WARNING, what + others, failure);
  }

  private Rate rate(Kind kind, long now) {
    var known = rates.get(kind);
    if (known != null) {
      return known;
    }
    return rates.computeIfAbsent(
        rates.size() < MOST_KINDS ? kind : ANY_OTHER, unseen -> new Rate(now));
  }
}

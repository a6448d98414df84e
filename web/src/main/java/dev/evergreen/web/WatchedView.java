package dev.evergreen.web;

import dev.evergreen.core.Computation;
import dev.evergreen.live.LiveResult;
import dev.evergreen.live.LiveResults;
import dev.evergreen.live.Present;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A live view with its parameters, however many look at it. It tells the subscribers only
 * <em>that</em> there is another result; they take the latest when they can.
 *
 * @param <P> the view's parameters
 */
final class WatchedView<P extends Record> extends LiveResult {

  /** Told that {@link #present} has changed; must not block. */
  interface Subscriber {

    /**
     * The latest result or its freshness is another.
     *
     * @param newResult whether the result is
     */
    void changed(boolean newResult);

    /** Whether it can make use of {@link #delta}. */
    default boolean takesDeltas() {
      return false;
    }

    /** There will be no further results. */
    void ended(WebException why);
  }

  private final LiveView<P> view;
  private final Caller caller;
  private final P params;
  private final LiveResults<?> all;
  private final Failures failures;
  private final int maxResultBytes;
  private final Set<Subscriber> subscribers = ConcurrentHashMap.newKeySet();
  private volatile @Nullable Delta delta;

  /** Touched by the thread that follows the results only. */
  private @Nullable Delta prepared;

  private volatile @Nullable WebException end;

  /**
   * @param payers the address that has it made, and the caller if there is one
   */
  WatchedView(
      LiveView<P> view,
      ViewKey key,
      List<?> payers,
      LiveResults<?> all,
      Failures failures,
      int maxResultBytes) {
    super(all, key.text(), payers);
    this.view = view;
    this.caller = key.seenCaller();
    this.params = key.params(view);
    this.all = all;
    this.failures = failures;
    this.maxResultBytes = maxResultBytes;
  }

  /**
   * How what somebody has becomes the latest result, or null if that is not known: it is only from
   * the result before, and only while somebody takes deltas.
   */
  @Nullable Delta delta(@Nullable String from, Present to) {
    var last = delta;
    return last != null && last.from().equals(from) && last.to().tag().equals(to.tag())
        ? last
        : null;
  }

  /**
   * What it was found to show.
   *
   * @throws WebException if that is a failure, or nothing
   */
  Present value(@Nullable Present found) {
    if (found == null) {
      var ended = end;
      throw ended != null
          ? ended
          : new WebException(504, "timeout", "There is no result yet; try again.");
    }
    if (found.error() instanceof WebException error) {
      throw error;
    }
    return found;
  }

  /** Whether this caller may see the result now. */
  boolean allows(Caller who) {
    try {
      return view.allows(who, params, failures);
    } catch (WebException refused) {
      return false;
    }
  }

  /** Whether what was asked for by one caller may be given to who that is by now. */
  boolean allows(Caller asked, Caller now) {
    return now.withoutSession().equals(asked.withoutSession()) && allows(now);
  }

  void subscribe(Subscriber subscriber) {
    subscribers.add(subscriber);
    var ended = end;
    if (ended != null) {
      subscriber.ended(ended);
    } else if (present() != null) {
      subscriber.changed(false);
    }
  }

  void unsubscribe(Subscriber subscriber) {
    subscribers.remove(subscriber);
  }

  /** How many are subscribed. */
  int subscribers() {
    return subscribers.size();
  }

  @Override
  protected String name() {
    return view.name();
  }

  @Override
  protected Computation<?> computation() {
    return view.computation(caller, params);
  }

  @Override
  protected int maxBytes() {
    return maxResultBytes;
  }

  @Override
  protected @Nullable Duration every() {
    return view.every();
  }

  @Override
  protected void prepare(@Nullable Present last, Present next) {
    prepared =
        last != null && subscribers.stream().anyMatch(Subscriber::takesDeltas)
            ? Delta.between(last, next)
            : null;
  }

  @Override
  protected void changed(@Nullable Present last, Present present) {
    boolean newResult = last == null || !last.tag().equals(present.tag());
    if (newResult) {
      var made = prepared;
      prepared = null;
      delta = made != null && all.holdBeside(this, made.to().length()) ? made : null;
    }
    for (var subscriber : subscribers) {
      subscriber.changed(newResult);
    }
  }

  @Override
  protected void ended(@Nullable RuntimeException failure) {
    var why =
        failure == null
            ? new WebException(503, "closed", "This view has been closed; try again.")
            : new Hub.AsMessages(failures).told(view.name(), failure);
    end = why;
    for (var subscriber : subscribers) {
      subscriber.ended(why);
    }
  }
}

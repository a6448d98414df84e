package dev.evergreen.chirper.variants;

import dev.evergreen.chirper.Chirp;
import dev.evergreen.chirper.User;
import dev.evergreen.core.GrainContext;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The observers of one timeline, in memory only: they register again when it is lost. */
final class TimelineObserversGrain implements TimelineObservers {

  private static final Duration LEASE = ObservedTimeline.REGISTER_EVERY.multipliedBy(3);

  private final GrainContext<String> context;
  private final Observers displays;
  private final Map<String, Observer> observers = new HashMap<>();

  TimelineObserversGrain(GrainContext<String> context, Observers displays) {
    this.context = context;
    this.displays = displays;
  }

  @Override
  public void observe(String id, int newest) {
    var known = Optional.ofNullable(observers.get(id));
    var until = context.now().plus(LEASE);
    show(id, new Observer(newest, until, known.flatMap(Observer::shown)));
  }

  @Override
  public void ignore(String id) {
    observers.remove(id);
  }

  @Override
  public void refresh() {
    observers.values().removeIf(observer -> observer.until().isBefore(context.now()));
    Map.copyOf(observers).forEach(this::show);
  }

  private void show(String id, Observer observer) {
    var user = context.grains().get(User.class, context.key());
    var timeline = Optional.of(user.timeline(observer.newest()));
    if (!timeline.equals(observer.shown())) {
      displays.show(id, timeline.get());
    }
    observers.put(id, new Observer(observer.newest(), observer.until(), timeline));
  }

  /** An observer, until when it is kept, and what it was shown last. */
  private record Observer(int newest, Instant until, Optional<List<Chirp>> shown) {}
}

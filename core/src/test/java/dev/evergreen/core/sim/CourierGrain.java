package dev.evergreen.core.sim;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimer;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

final class CourierGrain implements Courier {

  private final GrainContext<Key> context;
  private final App app;
  private final @Nullable Stalls stalls;
  private final State<Contents> state;
  private int timers;
  private @Nullable ReactiveComputation<Long> computation;
  private @Nullable ResultTracker<Long> tracker;
  private List<Watched> latest = List.of();

  CourierGrain(GrainContext<Key> context, App app, @Nullable Stalls stalls) {
    this.context = context;
    this.app = app;
    this.stalls = stalls;
    this.state = context.state(Contents.class, Contents.EMPTY);
  }

  @Override
  public long ticks() {
    app.executed(toString());
    app.noise();
    return state.get().ticks();
  }

  @Override
  public Contents contents() {
    return state.get();
  }

  @Override
  public long move(long action, String from, String to, long amount) {
    app.write("Cell/" + from, action + 1, () -> cell(from).add(action + 1, -amount));
    app.write("Cell/" + to, action + 2, () -> cell(to).add(action + 2, amount));
    var now = state.get();
    state.set(new Contents(now.ticks(), now.version() + 1, Lists.append(now.applied(), action)));
    return now.version() + 1;
  }

  private Cell cell(String key) {
    return context.grains().get(Cell.class, key);
  }

  @Override
  public void relay(List<Key> path) {
    app.noise();
    if (!path.isEmpty()) {
      context.grains().get(Courier.class, path.getFirst()).relay(path.subList(1, path.size()));
    }
  }

  @Override
  public long survey(long action, Ref ref, String cell) {
    var now = state.get();
    state.set(new Contents(now.ticks(), now.version() + 1, Lists.append(now.applied(), action)));
    long seen = computed(ref);
    app.write("Cell/" + cell, action + 1, () -> cell(cell).set(action + 1, seen));
    return now.version() + 1;
  }

  private long computed(Ref ref) {
    var reader = new LiveReader(app, stalls, context.grains(), true);
    try (var computation = context.reactive(() -> reader.read(ref))) {
      return computation.tracker().next(Duration.ofSeconds(5));
    }
  }

  @Override
  public void draft() {
    state.set(new Contents(-1, 0, List.of()));
    var computation = context.reactive(() -> state.get().ticks());
    computation.publisher().subscribe(new Showing());
    try {
      computation.tracker().next();
      context.sleep(Duration.ofMillis(200));
    } finally {
      computation.close();
    }
    throw new Refused("a draft");
  }

  /** Takes all that is published. */
  private final class Showing implements Flow.Subscriber<Result<Long>> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Result<Long> item) {
      if (item instanceof Result.Value<Long>(var ticks)) {
        app.shown(context.key(), ticks);
      }
    }

    @Override
    public void onError(Throwable throwable) {}

    @Override
    public void onComplete() {}
  }

  @Override
  public void tick(int times, Duration period) {
    new Ticking(times).start(period);
  }

  /** A timer that ends itself. */
  private final class Ticking {
    private int left;
    private @Nullable GrainTimer timer;

    Ticking(int times) {
      left = times;
    }

    void start(Duration period) {
      timer = context.timer("tick-" + ++timers, period, period, this::run);
    }

    private void run() {
      if (--left <= 0 && timer != null) {
        timer.cancel();
      }
      var now = state.get();
      app.noise();
      state.set(new Contents(now.ticks() + 1, now.version() + 1, now.applied()));
    }
  }

  @Override
  public void watch(Ref ref) {
    unwatch();
    var reader = new LiveReader(app, stalls, context.grains(), true);
    computation = context.reactive(() -> reader.read(ref));
    tracker = computation.tracker();
    latest = List.of(new Watched(ref, ""));
  }

  @Override
  public void unwatch() {
    if (computation != null) {
      computation.close();
    }
    computation = null;
    tracker = null;
    latest = List.of();
  }

  @Override
  public List<Watched> watched() {
    if (tracker != null) {
      Optional<Result<Long>> next = tracker.poll(Duration.ZERO);
      while (next.isPresent()) {
        var text = Seen.of(next.get()).text();
        latest = latest.stream().map(watched -> new Watched(watched.ref(), text)).toList();
        next = tracker.poll(Duration.ZERO);
      }
    }
    return latest;
  }

  @Override
  public String toString() {
    return "Courier/" + context.key().name() + context.key().number();
  }
}

package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Reentrant;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.NodeId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who may enter a {@link Reentrant} grain again, and what becomes of what is written then. */
@Timeout(60)
class ReentrantTest {

  /** Holds turns up, each at a stop of its own. */
  interface Stop extends Grain {
    @ReadOnly
    String here();
  }

  private static final class StopGrain implements Stop {
    private static final Map<String, StopGrain> ALL = new ConcurrentHashMap<>();

    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch open = new CountDownLatch(1);
    private final String key;

    StopGrain(GrainContext<String> context) {
      key = context.key();
    }

    static StopGrain at(String key) {
      return ALL.computeIfAbsent(key, k -> new StopGrain(k));
    }

    private StopGrain(String key) {
      this.key = key;
    }

    @Override
    public String here() {
      var stop = at(key);
      stop.reached.countDown();
      try {
        stop.open.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return key;
    }

    static void awaitReached(String key) throws InterruptedException {
      at(key).reached.await();
    }

    static void open(String key) {
      at(key).open.countDown();
    }
  }

  record Notes(List<String> all) {}

  @Reentrant
  interface Desk extends Grain {
    /** Has a porter come back with a note, and goes on without it when a stop is open. */
    List<String> impatient(String porter, String stop);

    /** As {@link #impatient}, and fails at another stop. */
    void impatientAndFail(String porter, String stop, String last);

    /** Notes, waits at a stop, and has a porter come back with another note. */
    void noteAndHave(String stop, String porter, String text);

    /** Notes, waits at a stop, and fails. */
    void failAt(String stop);

    /** Has a porter come back with a note, and fails. */
    void failAfter(String porter);

    /** Has two porters come back at the same time, one with a note and one with a failure. */
    void both(String noting, String failing);

    /** As {@link #both}, but the one that notes waits at a stop of its name before. */
    void oneLater(String noting, String failing);

    /** As {@link #both}, but goes on without the failure when a stop is open. */
    void bothUntil(String noting, String failing, String stop);

    void note(String text);

    /** Notes, waits at the stop of that name, and notes once more. */
    void noteTwice(String text);

    @ReadOnly
    List<String> notes();

    void leave();
  }

  private static final class DeskGrain implements Desk {
    private final GrainContext<String> context;
    private final State<Notes> state;

    DeskGrain(GrainContext<String> context) {
      this.context = context;
      state = context.state(Notes.class, new Notes(List.of()));
    }

    private Porter porter(String key) {
      return context.grains().get(Porter.class, key);
    }

    private Stop stop(String key) {
      return context.grains().get(Stop.class, key);
    }

    @Override
    public List<String> impatient(String porter, String stop) {
      note("impatient");
      try {
        Parallel.first(
            List.of(() -> porter(porter).bring(context.key(), "inner"), () -> stop(stop).here()));
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
      note("went on");
      return state.get().all();
    }

    @Override
    public void impatientAndFail(String porter, String stop, String last) {
      note("impatient");
      try {
        Parallel.first(
            List.of(
                () -> porter(porter).relay(context.key(), porter + " other"),
                () -> stop(stop).here()));
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
      failAt(last);
    }

    @Override
    public void noteAndHave(String stop, String porter, String text) {
      note("inner");
      stop(stop).here();
      porter(porter).hand(context.key(), text);
    }

    @Override
    public void failAt(String stop) {
      note("half-done");
      stop(stop).here();
      throw new IllegalStateException("fails");
    }

    @Override
    public void failAfter(String porter) {
      note("outer");
      porter(porter).hand(context.key(), "inner");
      throw new IllegalStateException("fails");
    }

    @Override
    public void both(String noting, String failing) {
      note("outer");
      Parallel.map(
          List.of(failing, noting),
          key ->
              key.equals(noting)
                  ? porter(key).hand(context.key(), "inner")
                  : porter(key).fail(context.key(), "f"));
    }

    @Override
    public void oneLater(String noting, String failing) {
      note("outer");
      Parallel.map(
          List.of(failing, noting),
          key ->
              key.equals(noting)
                  ? porter(key).bring(context.key(), "inner")
                  : porter(key).fail(context.key(), "f"));
    }

    @Override
    public void bothUntil(String noting, String failing, String stop) {
      note("outer");
      Parallel.map(
          List.of(failing, noting),
          key -> key.equals(noting) ? porter(key).hand(context.key(), "inner") : failOr(key, stop));
    }

    private String failOr(String porter, String stop) {
      try {
        return Parallel.first(
            List.of(() -> porter(porter).fail(context.key(), "f"), () -> stop(stop).here()));
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void note(String text) {
      state.update(
          notes -> {
            var more = new ArrayList<>(notes.all());
            more.add(text);
            return new Notes(List.copyOf(more));
          });
    }

    @Override
    public void noteTwice(String text) {
      note(text);
      stop(text).here();
      note(text);
    }

    @Override
    public List<String> notes() {
      return state.get().all();
    }

    @Override
    public void leave() {
      context.deactivate();
    }
  }

  interface Porter extends Grain {
    /** Waits at the stop of its name, and brings a note then. */
    String bring(String desk, String text);

    String hand(String desk, String text);

    /** Has the desk note, and another porter come back there when the stop "inner" is open. */
    String relay(String desk, String other);

    /** Has the desk fail at a stop; says how that ended. */
    String fail(String desk, String stop);
  }

  /** How the porters' calls of desks have ended; null if they returned. */
  private static final Map<String, CompletableFuture<Exception>> BROUGHT =
      new ConcurrentHashMap<>();

  private static CompletableFuture<Exception> brought(String porter) {
    return BROUGHT.computeIfAbsent(porter, p -> new CompletableFuture<>());
  }

  private static final class PorterGrain implements Porter {
    private final GrainContext<String> context;

    PorterGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public String bring(String desk, String text) {
      context.grains().get(Stop.class, context.key()).here();
      try {
        context.grains().get(Desk.class, desk).noteTwice(text);
        brought(context.key()).complete(null);
      } catch (GrainException e) {
        brought(context.key()).complete(e);
      }
      return text;
    }

    @Override
    public String hand(String desk, String text) {
      context.grains().get(Desk.class, desk).note(text);
      brought(context.key()).complete(null);
      return text;
    }

    @Override
    public String relay(String desk, String other) {
      try {
        context.grains().get(Desk.class, desk).noteAndHave("inner", other, "late");
        brought(context.key()).complete(null);
      } catch (GrainException e) {
        brought(context.key()).complete(e);
      }
      return desk;
    }

    @Override
    public String fail(String desk, String stop) {
      try {
        context.grains().get(Desk.class, desk).failAt(stop);
        return "returned";
      } catch (IllegalStateException e) {
        return "failed";
      }
    }
  }

  private static final int MOST_WAITING = 1;

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  private final WiredNodes wired = new WiredNodes(B);
  private final NodeRuntime node = start();

  private NodeRuntime start() {
    StopGrain.ALL.clear();
    BROUGHT.clear();
    wired.hosts = grain -> grain.key().startsWith("far") ? A : B;
    start(A);
    return start(B);
  }

  private NodeRuntime start(NodeId id) {
    var types =
        GrainTypes.create()
            .add(Stop.class, StopGrain::new)
            .add(Desk.class, DeskGrain::new)
            .add(Porter.class, PorterGrain::new);
    var settings = WiredNodes.quick().withCallTimeout(SOON).withMaxWaitingCalls(MOST_WAITING);
    return wired.start(id, settings, types);
  }

  @AfterEach
  void stop() {
    StopGrain.ALL.keySet().forEach(StopGrain::open);
    wired.close();
  }

  private Desk desk() {
    return node.grains().get(Desk.class, "d");
  }

  private static <T> T get(CompletableFuture<T> call) throws Exception {
    return call.get(20, TimeUnit.SECONDS);
  }

  @ParameterizedTest
  @ValueSource(strings = {"near", "far"})
  void aChainWhoseCallerHasGoneOnWaitsLikeAnyOther(String porter) throws Exception {
    var first = CompletableFuture.supplyAsync(() -> desk().impatient(porter, "s"));
    StopGrain.awaitReached(porter);
    StopGrain.open("s");
    assertEquals(List.of("impatient", "went on"), get(first));
    var failing = CompletableFuture.runAsync(() -> desk().failAt("f"));
    StopGrain.awaitReached("f");
    StopGrain.open(porter);
    StopGrain.open("inner");
    var activation =
        Objects.requireNonNull(node.activations.get(node.models.model(Desk.class).id("d")));
    WiredNodes.await("the porter", () -> brought(porter).isDone() || activation.waiting() == 1);
    StopGrain.open("f");
    assertThrows(ExecutionException.class, () -> get(failing));
    assertEquals(null, get(brought(porter)));
    assertEquals(List.of("impatient", "went on", "inner", "inner"), desk().notes());
  }

  @ParameterizedTest
  @ValueSource(strings = {"near", "far"})
  void whatIsInsideWhenItsCallerGoesOnLeavesNoTrace(String porter) throws Exception {
    var first = CompletableFuture.supplyAsync(() -> desk().impatient(porter, "s"));
    StopGrain.awaitReached(porter);
    StopGrain.open(porter);
    StopGrain.awaitReached("inner");
    StopGrain.open("s");
    assertEquals(List.of("impatient", "went on"), get(first));
    StopGrain.open("inner");
    assertInstanceOf(OutcomeUnknownException.class, get(brought(porter)));
    assertEquals(List.of("impatient", "went on"), desk().notes());
    desk().leave();
    assertEquals(List.of("impatient", "went on"), desk().notes());
  }

  @ParameterizedTest
  @ValueSource(strings = {"near", "far"})
  void norDoesWhatComesBackForIt(String porter) throws Exception {
    var first = CompletableFuture.runAsync(() -> desk().impatientAndFail(porter, "s", "f"));
    StopGrain.awaitReached("inner");
    StopGrain.open("s");
    StopGrain.awaitReached("f");
    StopGrain.open("inner");
    assertInstanceOf(OutcomeUnknownException.class, get(brought(porter)));
    StopGrain.open("f");
    assertThrows(ExecutionException.class, () -> get(first));
    assertEquals(List.of(), desk().notes());
  }

  @ParameterizedTest
  @ValueSource(strings = {"near", "far"})
  void whatAnInnerOperationHasSavedStaysWhenTheOuterOneFails(String porter) {
    assertThrows(IllegalStateException.class, () -> desk().failAfter(porter));
    assertEquals(List.of("outer", "inner"), desk().notes());
    desk().leave();
    assertEquals(List.of("outer", "inner"), desk().notes());
  }

  /** Both may come back, as the outer one waits for both; but not for each other. */
  @ParameterizedTest
  @ValueSource(strings = {"near", "far"})
  void whatComesBackByTwoBranchesIsInsideOneAfterTheOther(String porter) throws Exception {
    var noting = porter + " noting";
    var both = CompletableFuture.runAsync(() -> desk().both(noting, porter + " failing"));
    StopGrain.awaitReached("f");
    var activation =
        Objects.requireNonNull(node.activations.get(node.models.model(Desk.class).id("d")));
    WiredNodes.await("the other", () -> brought(noting).isDone() || activation.waiting() == 1);
    StopGrain.open("f");
    get(both);
    assertEquals(List.of("outer", "inner"), desk().notes());
    desk().leave();
    assertEquals(List.of("outer", "inner"), desk().notes());
  }

  /** Whatever that still does. */
  @ParameterizedTest
  @ValueSource(strings = {"near", "far"})
  void whoWaitsForWhatIsShutOutComesBackAtOnce(String porter) throws Exception {
    var noting = porter + " noting";
    var both =
        CompletableFuture.runAsync(
            () -> desk().bothUntil(noting, porter + " failing", "s"), Thread::startVirtualThread);
    StopGrain.awaitReached("f");
    StopGrain.awaitReached("s");
    var activation =
        Objects.requireNonNull(node.activations.get(node.models.model(Desk.class).id("d")));
    WiredNodes.await("the other", () -> brought(noting).isDone() || activation.waiting() == 1);
    StopGrain.open("s");
    assertEquals(null, get(brought(noting)));
    get(both);
    StopGrain.open("f");
    assertEquals(List.of("outer", "inner"), desk().notes());
  }

  /** What its outer operation waits for must not fail because strangers wait for that. */
  @ParameterizedTest
  @ValueSource(strings = {"near", "far"})
  void whatComesBackIsNotOneTooManyToWait(String porter) throws Exception {
    var noting = porter + " noting";
    var both =
        CompletableFuture.runAsync(
            () -> desk().oneLater(noting, porter + " failing"), Thread::startVirtualThread);
    StopGrain.awaitReached("f");
    StopGrain.awaitReached(noting);
    StopGrain.open("inner");
    var stranger =
        CompletableFuture.runAsync(() -> desk().note("stranger"), Thread::startVirtualThread);
    var activation =
        Objects.requireNonNull(node.activations.get(node.models.model(Desk.class).id("d")));
    WiredNodes.await("the stranger", () -> activation.waiting() == MOST_WAITING);
    StopGrain.open(noting);
    WiredNodes.await(
        "the other", () -> brought(noting).isDone() || activation.waiting() > MOST_WAITING);
    StopGrain.open("f");
    get(both);
    get(stranger);
    assertEquals(List.of("outer", "inner", "inner", "stranger"), desk().notes());
  }
}

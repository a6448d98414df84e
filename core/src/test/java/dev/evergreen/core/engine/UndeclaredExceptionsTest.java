package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Result;
import dev.evergreen.core.SameBy;
import dev.evergreen.core.State;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Storage;
import java.io.IOException;
import java.io.Serial;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Checked exceptions from where none is declared, as other languages of the JVM throw them: they
 * are no other failures than those that can be seen in the code.
 */
@Timeout(60)
final class UndeclaredExceptionsTest {

  @SuppressWarnings("unchecked") // that is the trick
  private static <E extends Exception> RuntimeException undeclared() throws E {
    throw (E) new IOException("says the test");
  }

  static final class Comparer implements BiPredicate<String, String> {
    @Override
    public boolean test(String a, String b) {
      throw UndeclaredExceptionsTest.<RuntimeException>undeclared();
    }
  }

  static final class Unspeakable extends RuntimeException {
    @Serial private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw UndeclaredExceptionsTest.<RuntimeException>undeclared();
    }
  }

  record Held(String text) {}

  interface Odd extends Grain {
    @ReadOnly
    @SameBy(Comparer.class)
    String text();

    void set(String text);

    void fail();
  }

  private static final class OddGrain implements Odd {
    private final State<Held> state;

    OddGrain(GrainContext<String> context) {
      state = context.state(Held.class, new Held("a"));
    }

    @Override
    public String text() {
      return state.get().text();
    }

    @Override
    public void set(String text) {
      state.set(new Held(text));
    }

    @Override
    public void fail() {
      throw new Unspeakable();
    }
  }

  /** What it has done it does not tell. */
  private static final class OddStorage implements Storage {
    private final MemoryStorage memory = new MemoryStorage();
    private volatile boolean fails;

    @Override
    public Optional<Stored> load(GrainId grain) {
      return memory.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      long revision = memory.save(grain, expected, state);
      if (fails) {
        fails = false;
        throw UndeclaredExceptionsTest.<RuntimeException>undeclared();
      }
      return revision;
    }

    @Override
    public void close() {}
  }

  private final OddStorage storage = new OddStorage();
  private final Node node =
      TestGrains.node().grain(Odd.class, OddGrain::new).storage(storage).start();
  private final Odd odd = node.grains().withTimeout(SOON).get(Odd.class, "o");

  @AfterEach
  void stop() {
    node.close();
  }

  @Test
  void whatAComparerOfAnOperationCannotTellIsAnotherResult() {
    try (var computation = node.reactive(odd::text)) {
      var tracker = computation.tracker();
      assertEquals("a", tracker.next(SOON));
      odd.set("b");
      assertEquals("b", tracker.next(SOON));
      odd.set("c");
      assertEquals("c", tracker.next(SOON));
    }
  }

  @Test
  void whatAComparerOfAComputationCannotTellIsAnotherResult() {
    try (var computation = node.reactive(odd::text, new Comparer())) {
      var tracker = computation.tracker();
      assertEquals("a", tracker.next(SOON));
      odd.set("b");
      assertEquals("b", tracker.next(SOON));
    }
  }

  @Test
  void aGrainIsFreeAgainThoughItsFailureCannotBeDescribed() {
    assertThrows(Exception.class, odd::fail);
    assertEquals("a", odd.text());
  }

  @Test
  void whatAStorageHasSavedAndDeniesIsLoadedAgain() {
    odd.set("b");
    storage.fails = true;
    assertThrows(StateNotSavedException.class, () -> odd.set("c"));
    assertEquals("c", odd.text());
  }

  @Test
  void aSubscriberIsToldOfItsOwnFailure() throws Exception {
    var told = new CompletableFuture<Throwable>();
    try (var computation = node.reactive(odd::text)) {
      computation.publisher().subscribe(new OddSubscriber(told));
      assertInstanceOf(IOException.class, told.get(20, TimeUnit.SECONDS));
    }
  }

  private record OddSubscriber(CompletableFuture<Throwable> told)
      implements Flow.Subscriber<Result<String>> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(1);
    }

    @Override
    public void onNext(Result<String> item) {
      throw UndeclaredExceptionsTest.<RuntimeException>undeclared();
    }

    @Override
    public void onError(Throwable thrown) {
      told.complete(thrown);
    }

    @Override
    public void onComplete() {}
  }
}

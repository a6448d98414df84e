package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.codec.Limits;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.model.Graph;
import dev.evergreen.core.model.Models;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.SummaryKey;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Nodes with an older and a newer Evergreen read each other's lists of reads, and say which there
 * are.
 */
@Timeout(60)
final class ListsOfReadsTest {

  private static final SummaryKey KEY =
      new SummaryKey(new GrainId("Shop", "s"), "count()", new byte[] {1});

  private static final Duration SOON = Duration.ofSeconds(20);

  private final Models models = new Models(WiredNodes.id("a"), Limits.DEFAULT, GrainTypes.create());
  private final ValueType first =
      Objects.requireNonNull(models.model(First.class).operation("$reads(java.lang.String,byte[])"))
          .result();
  private final ValueType present = models.graph().readsOf(KEY).operation().result();

  /** The lists of the first version. What is in them stays. */
  public interface First extends Grain {
    record Read(SummaryKey summary, int depth, boolean tentative) {}

    @ReadOnly
    List<Read> $reads(String operation, byte[] arguments);
  }

  @Test
  void bothReadTheOthersLists() {
    var list = List.of(new First.Read(KEY, 3, false), new First.Read(KEY, 0, true));
    var read = present.decode(first.encode(list));
    assertEquals(list, first.decode(present.encode(read)));
  }

  @Test
  void anOlderNodePassesOverWhoseReadsTheyAre() {
    var list = List.of(new Graph.Read(KEY, 3, false).by(KEY), new Graph.Read(KEY, 0, true));
    assertEquals(list, present.decode(present.encode(list)));
    assertEquals(
        List.of(new First.Read(KEY, 3, false), new First.Read(KEY, 0, true)),
        first.decode(present.encode(list)));
  }

  /** Nobody else has it: to look for its grain would only find it where it is, and ask again. */
  @Test
  void aListThatIsGoneIsNotLookedForElsewhere() {
    var b = WiredNodes.id("b");
    var host = new AtomicReference<>(b);
    var whileAsked = new AtomicReference<>(b);
    var answers = new AtomicInteger();
    var lookedFor = new AtomicInteger();
    try (var wired = new WiredNodes(b)) {
      wired.hosts = grain -> host.get();
      wired.whenNotThere = grain -> lookedFor.incrementAndGet();
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.SubscribeAnswer answer && !answer.notHere().isEmpty()) {
              answers.incrementAndGet();
            }
            host.set(message instanceof Message.Subscribe ? whileAsked.get() : b);
            wired.deliver(from, to, message);
            host.set(b);
          };
      var reader = wired.start(WiredNodes.id("a"), WiredNodes.quick());
      wired.start(b, WiredNodes.quick());
      var gone = WiredNodes.key(reader, TestGrains.Cell.class, "x", "text()").wire();
      reader.caches.retain(reader.models.graph().readsOf(gone), WiredNodes.NOBODY);
      WiredNodes.await("some answers", () -> answers.get() >= 3);
      assertEquals(0, lookedFor.get());
      whileAsked.set(WiredNodes.id("c"));
      WiredNodes.await("that its grain is looked for", () -> lookedFor.get() > 0);
    }
  }

  /** Else who searches for circles would go on by the list of what is not there any more. */
  @Test
  void whoFollowsAListIsToldWhenItsSummaryIsGone() {
    var b = WiredNodes.id("b");
    var followed = new CountDownLatch(1);
    var moved = ConcurrentHashMap.<SummaryKey>newKeySet();
    try (var wired = new WiredNodes(b)) {
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Moved(var keys)) {
              moved.addAll(keys);
            }
            wired.deliver(from, to, message);
            if (message instanceof Message.SubscribeAnswer answer && answer.notHere().isEmpty()) {
              followed.countDown();
            }
          };
      var follower = wired.start(WiredNodes.id("a"), WiredNodes.quick());
      var publisher = wired.start(b, WiredNodes.quick());
      var cell = publisher.grains().get(TestGrains.Cell.class, "x");
      publisher.reactive(cell::text).tracker().next(SOON);
      var summary = WiredNodes.key(follower, TestGrains.Cell.class, "x", "text()").wire();
      var list = follower.models.graph().readsOf(summary);
      follower.caches.retain(list, WiredNodes.NOBODY);
      WiredNodes.await("that the list is followed", () -> followed.getCount() == 0);
      publisher.release(WiredNodes.everything());
      WiredNodes.await("that it is told", () -> moved.contains(list.wire()));
    }
  }
}

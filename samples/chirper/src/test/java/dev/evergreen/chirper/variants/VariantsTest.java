package dev.evergreen.chirper.variants;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.fail;

import dev.evergreen.chirper.Chirp;
import dev.evergreen.chirper.NameIndex;
import dev.evergreen.chirper.User;
import dev.evergreen.chirper.variants.LiveTimeline.Display;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a person sees does not depend on how it is kept up to date. */
final class VariantsTest {

  private static final Instant START = Instant.parse("2025-11-01T00:00:00Z");
  private static final int NEWEST = 5;

  enum Variant {
    POLLING,
    OBSERVERS,
    REACTIVE
  }

  private final Observers observers = new Observers();
  private final Node node = observers.addTo(EmbeddedNode.builder()).start();
  private final Screen screen = new Screen();

  VariantsTest() {
    observers.attach(node.grains());
    NameIndex.people(node.grains()).add(List.of("alice", "bob", "carol"));
  }

  @AfterEach
  void stop() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void whatIsThereAlreadyIsShownAtOnce(Variant variant) {
    user("alice").post(at(1), "hello");
    try (var _ = show(variant, "alice")) {
      screen.awaits("hello");
    }
  }

  @ParameterizedTest
  @EnumSource
  void onesOwnPostAppearsAndItsRemovalToo(Variant variant) {
    try (var _ = show(variant, "alice")) {
      screen.awaits();
      user("alice").post(at(1), "one");
      screen.awaits("one");
      user("alice").post(at(2), "two");
      screen.awaits("two", "one");
      user("alice").unpost(at(1));
      screen.awaits("two");
    }
  }

  @ParameterizedTest
  @EnumSource
  void postsOfThoseFollowedAppearAndVanishWithTheFollowing(Variant variant) {
    user("bob").post(at(1), "of bob");
    try (var _ = show(variant, "alice")) {
      screen.awaits();
      user("alice").follow("bob");
      screen.awaits("of bob");
      user("bob").post(at(2), "more of bob");
      screen.awaits("more of bob", "of bob");
      user("carol").post(at(3), "of carol");
      user("bob").unpost(at(1));
      screen.awaits("more of bob");
      user("alice").unfollow("bob");
      screen.awaits();
      user("bob").post(at(4), "unseen");
      user("alice").post(at(5), "own");
      screen.awaits("own");
    }
  }

  @ParameterizedTest
  @EnumSource
  void onlyTheNewestAreShown(Variant variant) {
    try (var _ = show(variant, "alice")) {
      for (int i = 1; i <= 7; i++) {
        user("alice").post(at(i), "post " + i);
      }
      screen.awaits("post 7", "post 6", "post 5", "post 4", "post 3");
    }
  }

  @ParameterizedTest
  @EnumSource
  void peopleWhoFollowEachOtherAndPostAtTheSameTimeSeeAllInTheEnd(Variant variant)
      throws InterruptedException {
    var names = List.of("alice", "bob", "carol");
    names.forEach(a -> names.stream().filter(b -> !a.equals(b)).forEach(b -> user(a).follow(b)));
    try (var _ = show(variant, "alice")) {
      var writers =
          names.stream()
              .map(
                  name ->
                      Thread.startVirtualThread(
                          () -> {
                            for (int i = 1; i <= 30; i++) {
                              user(name).post(at(3 * i + names.indexOf(name)), name + " " + i);
                            }
                          }))
              .toList();
      for (var writer : writers) {
        writer.join();
      }
      screen.awaits("carol 30", "bob 30", "alice 30", "carol 29", "bob 29");
    }
  }

  @ParameterizedTest
  @EnumSource
  void nothingIsShownAfterClosing(Variant variant) {
    show(variant, "alice").close();
    user("alice").post(at(1), "unseen");
    // A second one, because what it shows comes no earlier than what the first one would have
    // shown.
    var other = new Screen();
    try (var _ = show(variant, "alice", other)) {
      other.awaits("unseen");
    }
    assertFalse(screen.shown().contains(List.of("unseen")));
  }

  private LiveTimeline show(Variant variant, String user) {
    return show(variant, user, screen);
  }

  private LiveTimeline show(Variant variant, String user, Display display) {
    return switch (variant) {
      case POLLING ->
          new PollingTimeline(node.grains(), user, NEWEST, Duration.ofMillis(20), display);
      case OBSERVERS -> new ObservedTimeline(node.grains(), observers, user, NEWEST, display);
      case REACTIVE -> new ReactiveTimeline(node, user, NEWEST, display);
    };
  }

  private User user(String name) {
    return node.grains().get(User.class, name);
  }

  private static Instant at(int second) {
    return START.plusSeconds(second);
  }

  /** A display that a test can wait for. */
  private static final class Screen implements Display {

    private static final long PATIENCE_SECONDS = 8;

    private final BlockingQueue<List<String>> shown = new LinkedBlockingQueue<>();

    @Override
    public void show(List<Chirp> timeline) {
      shown.add(timeline.stream().map(Chirp::text).toList());
    }

    @Override
    public void trouble(String message) {
      shown.add(List.of("trouble: " + message));
    }

    List<List<String>> shown() {
      return List.copyOf(shown);
    }

    /** Waits until exactly this is shown, from the newest to the oldest. */
    void awaits(String... texts) {
      var expected = List.of(texts);
      var last = List.of("nothing");
      try {
        do {
          var next = shown.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
          if (next == null) {
            fail("expected " + expected + " but the last shown was " + last);
          }
          last = next;
        } while (!last.equals(expected));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        fail(e);
      }
    }
  }
}

package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.chirper.User.Profile;
import dev.evergreen.core.Node;
import dev.evergreen.core.spi.MemoryStorage;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class UserGrainTest {

  private static final Instant START = Instant.parse("2025-01-01T00:00:00Z");

  private final MemoryStorage storage = new MemoryStorage();
  private Node node = ChirperServer.node(storage);

  @BeforeEach
  void introduce() {
    NameIndex.people(node.grains()).add(List.of("alice", "bob", "carol"));
  }

  @AfterEach
  void stop() {
    node.close();
  }

  @Test
  void aTimelineHasTheNewestPostsOfOneselfAndOfThoseFollowed() {
    user("alice").post(at(1), "first");
    user("bob").post(at(2), "second");
    user("carol").post(at(3), "not followed");
    user("alice").post(at(4), "fourth");
    user("alice").follow("bob");
    assertEquals(List.of("fourth", "second", "first"), texts(user("alice").timeline(9)));
    assertEquals(List.of("fourth", "second"), texts(user("alice").timeline(2)));
    assertEquals(List.of("second"), texts(user("bob").timeline(9)));
    var second = user("bob").messages(1).getFirst().place();
    assertEquals(List.of("first"), texts(user("alice").timelineBehind(second, 9)));
  }

  @Test
  void postsWhoseTimeIsChosenReplaceNone() {
    var texts = IntStream.range(0, 3 * UserGrain.KEPT).mapToObj(i -> "post " + i).toList();
    texts.forEach(text -> user("alice").postFrom(at(1), text));
    assertEquals(texts.reversed(), texts(user("alice").messages(texts.size())));
    assertEquals(texts.size(), user("alice").profile().posts());
  }

  @Test
  void followingShowsOnBothSidesAndSoDoesItsEnd() {
    user("alice").follow("bob");
    user("carol").follow("bob");
    user("alice").follow("carol");
    assertEquals(new Profile(0, 2, 0), user("alice").profile());
    assertEquals(new Profile(0, 0, 2), user("bob").profile());
    assertEquals(List.of("bob", "carol"), user("alice").follows("", 9));
    assertEquals(List.of("alice", "carol"), followersOf("bob"));
    assertEquals(Set.of("bob"), user("alice").followsAmong(List.of("bob", "alice")));
    user("alice").unfollow("bob");
    assertEquals(List.of("carol"), user("alice").follows("", 9));
    assertEquals(List.of("carol"), followersOf("bob"));
  }

  @Test
  void everyOperationMayBeRepeated() {
    for (int i = 0; i < 2; i++) {
      user("alice").post(at(1), "once");
      user("alice").follow("bob");
    }
    assertEquals(new Profile(1, 1, 0), user("alice").profile());
    assertEquals(List.of("alice"), followersOf("bob"));
    for (int i = 0; i < 2; i++) {
      user("alice").unpost(at(1));
      user("alice").unfollow("bob");
    }
    assertEquals(new Profile(0, 0, 0), user("alice").profile());
    assertEquals(List.of(), followersOf("bob"));
  }

  @Test
  void followingNobodyOrOneselfIsRefusedAndChangesNothing() {
    assertThrows(RefusedException.class, () -> user("alice").follow("nobody"));
    assertThrows(RefusedException.class, () -> user("alice").follow("alice"));
    assertThrows(RefusedException.class, () -> user("alice").post(at(1), " "));
    assertEquals(new Profile(0, 0, 0), user("alice").profile());
    assertEquals(List.of(), followersOf("nobody"));
  }

  @Test
  void olderPostsMoveToArchivesWithoutBeingMissed() {
    int posts = 3 * UserGrain.KEPT + 50;
    for (int i = 0; i < posts; i++) {
      user("alice").post(day(i), "post " + i);
    }
    var newestFirst = IntStream.range(0, posts).mapToObj(i -> "post " + (posts - 1 - i)).toList();
    assertEquals(newestFirst, texts(user("alice").messages(1_000)));
    assertEquals(newestFirst.subList(0, 320), texts(user("alice").messages(320)));
    var place = Chirp.Place.FIRST;
    for (int from = 0; from < posts; from += 50) {
      var page = user("alice").messagesBehind(place, 50);
      assertEquals(newestFirst.subList(from, Math.min(posts, from + 50)), texts(page));
      place = Chirp.Place.of(page.getLast().place().cursor());
    }
    assertEquals(List.of(), user("alice").messagesBehind(place, 50));
    assertEquals(posts, user("alice").profile().posts());
  }

  @Test
  void anArchivedPostCanBeReplacedAndRemoved() {
    for (int i = 0; i < 3 * UserGrain.KEPT; i++) {
      user("alice").post(day(i), "post " + i);
    }
    user("alice").post(day(5), "rewritten");
    assertEquals(3 * UserGrain.KEPT, user("alice").profile().posts());
    assertEquals("rewritten", texts(user("alice").messages(1_000)).get(294));
    user("alice").unpost(day(5));
    user("alice").unpost(day(5));
    assertEquals(3 * UserGrain.KEPT - 1, user("alice").profile().posts());
    assertEquals("post 6", texts(user("alice").messages(1_000)).get(293));
    user("alice").unpost(START.minus(Duration.ofDays(900)));
    assertEquals(3 * UserGrain.KEPT - 1, user("alice").profile().posts());
  }

  @Test
  void loadingInAnyOrderAndTwiceIsPostingOnce() {
    var chirps = new ArrayList<Chirp>();
    for (int i = 0; i < 700; i++) {
      chirps.add(new Chirp("alice", day(i * 311 % 700), "post " + i));
    }
    user("alice").load(chirps.subList(350, 700), List.of("bob"));
    user("alice").load(chirps.subList(0, 350), List.of("carol"));
    user("alice").load(chirps, List.of("bob", "carol"));
    assertEquals(chirps.stream().sorted().toList(), user("alice").messages(1_000));
    assertEquals(new Profile(700, 2, 0), user("alice").profile());
  }

  @Test
  void everythingIsThereAfterTheNodeStartedAnew() {
    for (int i = 0; i < 250; i++) {
      user("alice").post(day(i), "post " + i);
    }
    user("bob").follow("alice");
    var before = user("bob").timeline(400);
    node.close();
    node = ChirperServer.node(storage);
    assertEquals(before, user("bob").timeline(400));
    assertEquals(List.of("bob"), followersOf("alice"));
    assertEquals(List.of("carol"), NameIndex.people(node.grains()).find("c", "", 9));
  }

  @Test
  void peopleWhoFollowEachOtherReadAndPostAtTheSameTimeWithoutWaitingForEachOther()
      throws InterruptedException {
    var names = List.of("alice", "bob", "carol");
    names.forEach(a -> names.stream().filter(b -> !a.equals(b)).forEach(b -> user(a).follow(b)));
    var quick = node.grains().withTimeout(Duration.ofSeconds(10));
    var failures = new ArrayList<RuntimeException>();
    var left = new CountDownLatch(24);
    for (int thread = 0; thread < 24; thread++) {
      int number = thread;
      Thread.startVirtualThread(
          () -> {
            try {
              for (int i = 0; i < 100; i++) {
                var user = quick.get(User.class, names.get(number % 3));
                switch (number / 3 % 4) {
                  case 0 -> user.post(at(number * 1_000 + i), "text");
                  case 1 -> user.follow(names.get((number + 1) % 3));
                  default -> user.timeline(50);
                }
              }
            } catch (RuntimeException e) {
              synchronized (failures) {
                failures.add(e);
              }
            } finally {
              left.countDown();
            }
          });
    }
    left.await();
    assertEquals(List.of(), failures);
  }

  private User user(String name) {
    return node.grains().get(User.class, name);
  }

  private List<String> followersOf(String name) {
    return NameIndex.followersOf(name, node.grains()).find("", "", 99);
  }

  private static Instant at(int second) {
    return START.plusSeconds(second);
  }

  private static Instant day(int day) {
    return START.plus(Duration.ofDays(day));
  }

  private static List<String> texts(List<Chirp> chirps) {
    return chirps.stream().map(Chirp::text).toList();
  }
}

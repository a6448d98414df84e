package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Node;
import dev.evergreen.core.spi.MemoryStorage;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class NameIndexGrainTest {

  private final Node node = ChirperServer.node(new MemoryStorage());
  private final NameIndex people = NameIndex.people(node.grains());

  @AfterEach
  void stop() {
    node.close();
  }

  @Test
  void anIndexOfAnySizeBehavesLikeASortedSet() {
    var model = new TreeSet<String>();
    var random = new Random(7);
    for (int round = 0; round < 60; round++) {
      var some = IntStream.range(0, random.nextInt(120)).mapToObj(i -> name(random)).toList();
      model.addAll(some);
      assertEquals(model.size(), people.add(some));
      var one = name(random);
      model.remove(one);
      assertEquals(model.size(), people.remove(one));
      assertEquals(model.size(), people.size());
      var prefix = one.substring(0, Math.min(random.nextInt(4), one.length()));
      assertEquals(
          model.stream().filter(n -> n.startsWith(prefix)).limit(20).toList(),
          people.find(prefix, "", 20));
      assertEquals(
          model.tailSet(one, false).stream().filter(n -> n.startsWith(prefix)).limit(20).toList(),
          people.find(prefix, one, 20));
      assertEquals(model.contains(one), people.contains(one));
    }
    assertTrue(model.size() > NameIndexGrain.MOST, "the test must divide pages");
    assertEquals(List.copyOf(model), people.find("", "", Integer.MAX_VALUE));
    model.forEach(name -> assertTrue(people.contains(name), name));
  }

  @Test
  void manyNamesThatBeginAlikeAreDividedAtTheLetterThatDiffers() {
    var names = IntStream.range(0, 3_000).mapToObj("user%05d"::formatted).toList();
    assertEquals(3_000, people.add(names));
    assertEquals(names.subList(1_000, 1_010), people.find("user01", "", 10));
    assertEquals(List.of("user02999"), people.find("user02999", "", 10));
    assertEquals(names.subList(1_501, 1_511), people.find("user01", "user01500", 10));
    assertEquals(names.subList(2_990, 3_000), people.find("", "user02989", 20));
    assertEquals(List.of(), people.find("user03", "", 10));
    assertEquals(List.of(), people.find("other", "", 10));
  }

  @Test
  void aNameThatIsTheBeginningOfOthersIsFound() {
    people.add(IntStream.range(0, 1_000).mapToObj("ann%03d"::formatted).toList());
    people.add(List.of("a", "ann", "an"));
    assertEquals(List.of("a", "an", "ann", "ann000"), people.find("", "", 4));
    assertEquals(List.of("ann", "ann000"), people.find("ann", "", 2));
    assertEquals(1_002, people.remove("ann"));
    assertFalse(people.contains("ann"));
    assertTrue(people.contains("an"));
  }

  @Test
  void addingAndRemovingTwiceIsOnce() {
    people.add(List.of("bob", "alice"));
    assertEquals(2, people.add(List.of("bob")));
    assertEquals(1, people.remove("bob"));
    assertEquals(1, people.remove("bob"));
    assertEquals(List.of("alice"), people.find("", "", 9));
  }

  @Test
  void setsDoNotMix() {
    people.add(List.of("alice"));
    NameIndex.followersOf("alice", node.grains()).add(List.of("bob"));
    assertEquals(List.of("alice"), people.find("", "", 9));
    assertEquals(0, NameIndex.followersOf("bob", node.grains()).size());
  }

  private static String name(Random random) {
    var name = new StringBuilder();
    for (int i = 0; i <= random.nextInt(6); i++) {
      name.append((char) ('a' + random.nextInt(3)));
    }
    return name.append(random.nextInt(9)).toString();
  }
}

package dev.evergreen.bench.polymix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.bench.polymix.Thing.Kind;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ThingTest {

  /** What is asked for once: each of the first thing, and the images of those that are pages. */
  private static List<Thing> asked(int alone) {
    var asked = new ArrayList<Thing>();
    for (int number = 0; number < alone; number++) {
      var thing = Thing.alone(number);
      asked.add(thing);
      for (int image = 1; image <= thing.nature().images(); image++) {
        asked.add(new Thing(number, image));
      }
    }
    return asked;
  }

  @Test
  void whoHasTheNameKnowsTheThing() {
    for (var thing : asked(100)) {
      assertEquals(thing, Thing.named(thing.name()));
      assertEquals(thing.nature(), Thing.named(thing.name()).nature());
    }
  }

  /** Shares, sizes and what may be kept are those of Polymix-3. */
  @Test
  void whatIsAskedForIsMixedAsItShallBe() {
    var natures = asked(50_000).stream().map(Thing::nature).toList();
    assertEquals(0.65, share(natures, Kind.IMAGE), 0.01);
    assertEquals(0.15, share(natures, Kind.PAGE), 0.01);
    assertEquals(0.195, share(natures, Kind.OTHER), 0.01);
    double kilobytes = natures.stream().mapToDouble(Thing.Nature::size).average().orElse(0) / 1024;
    assertEquals(10.6, kilobytes, 0.5);
    double kept = natures.stream().mapToDouble(each -> each.kept() ? 1 : 0).average().orElse(0);
    assertEquals(0.80, kept, 0.01);
  }

  private static double share(List<Thing.Nature> natures, Kind kind) {
    return natures.stream().mapToDouble(each -> each.kind() == kind ? 1 : 0).average().orElse(0);
  }

  @Test
  void aThingStaysAsItIsUntilItExpires() {
    long now = 1_800_000_000;
    for (var thing : asked(100)) {
      var nature = thing.nature();
      assertTrue(nature.modified(now) <= now && now < nature.expires(now));
      assertEquals(nature.modified(now), nature.modified(nature.expires(now) - 1));
      assertEquals(nature.expires(now), nature.modified(nature.expires(now)));
    }
  }
}

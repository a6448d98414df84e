package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.work.Tasks;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class StandingsTest {

  private final Standings standings = new Standings();
  private final List<String> told = new ArrayList<>();

  /** Tells further ones when it is told. */
  private final class Teller implements Cache.Dependent {
    private final String name;
    private final List<Cache.Dependent> further;

    Teller(String name, Cache.Dependent... further) {
      this.name = name;
      this.further = List.of(further);
    }

    @Override
    public @Nullable CallKey key() {
      return null;
    }

    @Override
    public void mark(@Nullable TraceContext cause) {}

    @Override
    public void schedule(Tasks next) {}

    @Override
    public void standingChanged() {
      told.add(name);
      standings.tell(further);
      if (name.equals("bad")) {
        throw new IllegalStateException(name);
      }
    }
  }

  @Test
  void whoIsToldLaterIsToldByTheSameThread() {
    standings.tell(List.of(new Teller("a", new Teller("c", new Teller("d"))), new Teller("b")));
    assertEquals(List.of("a", "b", "c", "d"), told);
  }

  /** Else none is told any more on the whole node, and what is in doubt looks current. */
  @Test
  void whereAStackEndsOthersAreToldLater() throws InterruptedException {
    standings.tell(List.of(new Teller("bad")));
    TestGrains.whereTheStackEnds(() -> standings.tell(List.of(new Teller("deep"))));
    standings.tell(List.of(new Teller("a")));
    assertEquals("a", told.getLast());
  }

  @Test
  void oneThatFailsKeepsNobodyFromBeingTold() {
    standings.tell(List.of(new Teller("bad", new Teller("b")), new Teller("a")));
    standings.tell(List.of(new Teller("c")));
    assertEquals(List.of("bad", "a", "b", "c"), told);
  }
}

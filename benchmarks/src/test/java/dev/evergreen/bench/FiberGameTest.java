package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers;
import java.time.Duration;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** That the games go on and end; how fast, no test says. */
class FiberGameTest {

  private static final int FIBERS = 16;
  private static final Duration TIME = Duration.ofMillis(20);

  @ParameterizedTest
  @EnumSource
  void fibersOfBothModesPlay(FiberGame game) throws Exception {
    for (var mode : Fibers.Mode.values()) {
      try (var fibers = Fibers.builder().mode(mode).processors(2).start()) {
        var time = TIME;
        // On a busy machine a game may be over before anybody had a turn.
        while (game.perSecond(fibers, FIBERS, time) == 0) {
          time = time.multipliedBy(2);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void goroutinesPlay(FiberGame game) throws Exception {
    var built = Goroutines.build();
    Assumptions.assumeTrue(
        built.isPresent(), "Go is not there (Debian: apt-get install golang-go)");
    try (var goroutines = built.get()) {
      assertTrue(goroutines.perSecond(game, FIBERS, TIME) >= 0);
    }
  }
}

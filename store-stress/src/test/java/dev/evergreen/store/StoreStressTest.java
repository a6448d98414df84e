package dev.evergreen.store;

import dev.evergreen.stress.StressSuite;
import java.util.List;

/** Runs the tests of what the store reads without locks. */
class StoreStressTest extends StressSuite {

  StoreStressTest() {
    super(List.of("--enable-native-access=ALL-UNNAMED"), List.of(StoreStress.class));
  }
}

package dev.evergreen.fibers;

import dev.evergreen.stress.StressSuite;
import java.util.List;

/** Runs the tests of the fibers' queues and wake-ups. */
class FibersStressTest extends StressSuite {

  FibersStressTest() {
    super(
        List.of(
            "--add-opens=java.base/java.lang=ALL-UNNAMED", "--enable-native-access=ALL-UNNAMED"),
        List.of(
            ReadyQueueStress.class,
            GateStress.class,
            SleepStress.class,
            TimeLimitStress.class,
            DescriptorStress.class,
            CancelScopeStress.class));
  }
}

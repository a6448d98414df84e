package dev.evergreen.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ThreadCallsTest {

  /** Behind the name in parentheses, which may hold blanks, the policy is the 39th word. */
  private static String policy() throws IOException {
    var text = Files.readString(Path.of("/proc/thread-self/stat"));
    return text.substring(text.lastIndexOf(')') + 2).split(" ", -1)[38];
  }

  @Test
  void aThreadTakesIdleTimeOnly() throws Exception {
    var before = policy();
    var other =
        new FutureTask<>(
            () -> {
              assertEquals(0, ThreadCalls.takeIdleTime(new Scratch()));
              return policy();
            });
    Thread.ofPlatform().start(other);
    assertEquals("5", other.get(), "SCHED_IDLE");
    assertEquals(before, policy(), "of that thread alone");
  }
}

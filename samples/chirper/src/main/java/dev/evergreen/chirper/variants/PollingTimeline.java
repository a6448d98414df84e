package dev.evergreen.chirper.variants;

import dev.evergreen.chirper.User;
import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.Grains;
import java.time.Duration;

/**
 * Polling (004 §3.1, Figure 2). Shows a change late by half the delay on average, and loads the
 * service all the same when nothing changes.
 */
public final class PollingTimeline implements LiveTimeline {

  private final Thread loop;

  /** Starts to show the newest posts of a user's timeline. */
  public PollingTimeline(Grains grains, String user, int newest, Duration delay, Display display) {
    loop =
        Thread.startVirtualThread(() -> poll(grains.get(User.class, user), newest, delay, display));
  }

  private static void poll(User user, int newest, Duration delay, Display display) {
    try {
      while (true) {
        try {
          display.show(user.timeline(newest));
        } catch (CallInterruptedException e) {
          return;
        } catch (GrainException e) {
          display.trouble("The server does not respond, trying again.");
        }
        Thread.sleep(delay);
      }
    } catch (InterruptedException e) {
      // It was closed.
    }
  }

  @Override
  public void close() {
    loop.interrupt();
  }
}

package dev.evergreen.chirper.variants;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.Grains;
import java.time.Duration;
import java.util.UUID;

/**
 * Observers written by hand, the client's part (004 §3.2, Figure 3). It registers again and again:
 * the service keeps observers in memory only and forgets those it does not hear of, and a
 * notification may be lost. So a lost one is made up for within {@link #REGISTER_EVERY}.
 */
public final class ObservedTimeline implements LiveTimeline {

  /** How often an observer registers. */
  static final Duration REGISTER_EVERY = Duration.ofSeconds(10);

  private final String id = UUID.randomUUID().toString();
  private final TimelineObservers observers;
  private final Observers displays;
  private final Thread loop;

  /** Starts to show the newest posts of a user's timeline. */
  public ObservedTimeline(
      Grains grains, Observers displays, String user, int newest, Display display) {
    this.displays = displays;
    observers = grains.get(TimelineObservers.class, user);
    displays.add(id, display::show);
    loop = Thread.startVirtualThread(() -> register(newest, display));
  }

  private void register(int newest, Display display) {
    try {
      while (true) {
        try {
          observers.observe(id, newest);
        } catch (CallInterruptedException e) {
          return;
        } catch (GrainException e) {
          display.trouble("The server does not respond, trying again.");
        }
        Thread.sleep(REGISTER_EVERY);
      }
    } catch (InterruptedException e) {
      // It was closed.
    }
  }

  @Override
  public void close() {
    loop.interrupt();
    displays.remove(id);
    try {
      observers.ignore(id);
    } catch (GrainException e) {
      // It is forgotten when it does not register again.
    }
  }
}

package dev.evergreen.chirper.variants;

import dev.evergreen.chirper.Chirp;
import dev.evergreen.chirper.User;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.ReactiveComputation;
import java.util.List;

/**
 * A reactive computation (004 §3.3, Figures 4 and 6). The loop is the one of polling without the
 * delay, and the service's code is untouched.
 */
public final class ReactiveTimeline implements LiveTimeline {

  private final ReactiveComputation<List<Chirp>> timeline;

  /** Starts to show the newest posts of a user's timeline. */
  public ReactiveTimeline(Node node, String user, int newest, Display display) {
    timeline = node.reactive(() -> node.grains().get(User.class, user).timeline(newest));
    Thread.startVirtualThread(() -> follow(display));
  }

  private void follow(Display display) {
    var results = timeline.tracker();
    while (true) {
      try {
        display.show(results.next());
      } catch (ComputationClosedException | NodeStoppedException e) {
        return;
      } catch (GrainException e) {
        display.trouble("The server does not respond, still trying.");
      }
    }
  }

  @Override
  public void close() {
    timeline.close();
  }
}

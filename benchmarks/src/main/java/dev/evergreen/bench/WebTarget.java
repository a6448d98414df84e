package dev.evergreen.bench;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.LiveView;
import dev.evergreen.web.Reply;
import dev.evergreen.web.WebServer;
import java.util.ArrayList;
import java.util.List;

/** A web server for {@link WebAttack}s: a view of a grain, a command, and what is large. */
final class WebTarget {

  private static final int MOST_NOTES = 50;

  private WebTarget() {}

  /** What somebody has written last. */
  interface Board extends Grain {
    @ReadOnly
    List<String> notes(int count);

    void pin(String note);

    /** In memory. */
    final class InState implements Board {
      /** The state. */
      record Notes(List<String> notes) {}

      private final State<Notes> state;

      InState(GrainContext<String> context) {
        state = context.state(Notes.class, new Notes(List.of()));
      }

      @Override
      public List<String> notes(int count) {
        var notes = state.get().notes();
        return notes.subList(0, Math.min(notes.size(), count));
      }

      @Override
      public void pin(String note) {
        var notes = new ArrayList<>(state.get().notes());
        notes.addFirst(note);
        state.set(new Notes(List.copyOf(notes.subList(0, Math.min(notes.size(), MOST_NOTES)))));
      }
    }
  }

  record Which(String owner, int count) {}

  record Pin(String owner, String note) {}

  /** Serves at a port of 127.0.0.1, until the process is ended. */
  public static void main(String[] arguments) throws InterruptedException {
    var node = EmbeddedNode.builder().grain(Board.class, Board.InState::new).start();
    var grains = node.grains();
    var large = "x".repeat(1_000_000);
    var larger = large.repeat(4);
    WebServer.builder(node)
        .port(Integer.parseInt(arguments[0]))
        .view(
            LiveView.of(
                "board",
                Which.class,
                Authorisation.everyone(),
                which -> () -> grains.get(Board.class, which.owner()).notes(which.count())))
        .view(
            LiveView.of(
                "large", LiveView.NoParams.class, Authorisation.everyone(), none -> () -> large))
        .command(
            "pin",
            Pin.class,
            Authorisation.everyone(),
            (caller, pin) -> grains.get(Board.class, pin.owner()).pin(pin.note()))
        .route("GET", "/large", request -> Reply.text(larger))
        .start();
    Thread.sleep(Long.MAX_VALUE);
  }
}

package dev.evergreen.memcached.live;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import java.util.ArrayList;
import java.util.List;

/** What somebody has written. */
public interface Board extends Grain {

  @ReadOnly
  List<String> notes();

  void pin(String note);

  /** In memory. */
  final class InState implements Board {

    /** The state. */
    public record Notes(List<String> notes) {}

    private final State<Notes> state;

    /** Made by the runtime. */
    public InState(GrainContext<String> context) {
      this.state = context.state(Notes.class, new Notes(List.of()));
    }

    @Override
    public List<String> notes() {
      return state.get().notes();
    }

    @Override
    public void pin(String note) {
      var notes = new ArrayList<>(state.get().notes());
      notes.add(note);
      state.set(new Notes(notes));
    }
  }
}

package dev.evergreen.cluster;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import java.util.Map;
import java.util.TreeMap;

/** Keeps the last number that each writer wrote; so whoever lost a write is found out. */
public interface Ledger extends Grain {

  @ReadOnly
  Map<String, Long> entries();

  void put(String writer, long number);

  /** A ledger whose state is saved with every write. */
  final class InState implements Ledger {

    /** The state. */
    public record Entries(Map<String, Long> numbers) {}

    private final State<Entries> state;

    InState(GrainContext<String> context) {
      this.state = context.state(Entries.class, new Entries(Map.of()));
    }

    @Override
    public Map<String, Long> entries() {
      return state.get().numbers();
    }

    @Override
    public void put(String writer, long number) {
      var numbers = new TreeMap<>(state.get().numbers());
      numbers.merge(writer, number, Math::max);
      state.set(new Entries(numbers));
    }
  }
}

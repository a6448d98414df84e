package dev.evergreen.core.spi;

import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps states in the memory of this process: for tests and for grains whose state may end with the
 * process. Nothing is written anywhere; closing forgets everything. Methods do not block.
 */
public final class MemoryStorage implements Storage {

  private final ConcurrentHashMap<GrainId, Stored> states = new ConcurrentHashMap<>();
  private volatile boolean closed;

  @Override
  public Optional<Stored> load(GrainId grain) {
    refuseWhenClosed(grain);
    return Optional.ofNullable(states.get(grain))
        .map(stored -> new Stored(stored.revision(), stored.state().clone()));
  }

  @Override
  public long save(GrainId grain, long expected, byte[] state) {
    refuseWhenClosed(grain);
    var saved = new Stored(expected + 1, state.clone());
    states.compute(
        grain,
        (id, before) -> {
          long actual = before == null ? NONE : before.revision();
          if (actual != expected) {
            throw new RevisionConflictException(id, expected, actual);
          }
          return saved;
        });
    return saved.revision();
  }

  /** No: each process has its own memory. */
  @Override
  public boolean shared() {
    return false;
  }

  @Override
  public void close() {
    closed = true;
    states.clear();
  }

  private void refuseWhenClosed(GrainId grain) {
    if (closed) {
      throw new StorageException("Memory storage is closed: " + grain + " was not touched");
    }
  }
}

package dev.evergreen.core.spi;

import java.util.Optional;

/**
 * Where the state of grains is kept. Thread-safe; methods block the calling thread.
 *
 * <p>The contract that everything rests on: for one grain and one revision at most one {@link
 * #save} succeeds, whoever calls it, and what a successful save wrote is what every later load
 * returns, until the next successful save, also after the process was killed.
 */
public interface Storage extends AutoCloseable {

  /** The revision of a grain that was never saved. */
  long NONE = 0;

  /**
   * What was saved last, if anything.
   *
   * @throws StorageException if the storage could not answer
   */
  Optional<Stored> load(GrainId grain);

  /**
   * Saves the state if {@code expected} is still its revision.
   *
   * @param expected the revision that was loaded or returned by the last save, or {@link #NONE}
   * @return the new revision, greater than {@code expected}
   * @throws RevisionConflictException if the revision is another; nothing was written
   * @throws NodeGivenUpException if it is {@linkplain #fenced fenced}, and its node was given up
   * @throws StorageException if the storage failed; whether it was written is unknown
   */
  long save(GrainId grain, long expected, byte[] state);

  /**
   * Whether processes that open it all see what any of them saved, so that the promise above holds
   * among them. If not, each process has states of its own, and a cluster of several nodes refuses
   * it unless told otherwise: a grain that moved to another node would begin anew there.
   */
  default boolean shared() {
    return true;
  }

  /**
   * The fence between the nodes of a cluster, if this storage can keep one. Does not block.
   *
   * @param cluster its name; each cluster that uses the storage has a fence of its own
   */
  default Optional<Fence> fence(String cluster) {
    return Optional.empty();
  }

  /**
   * Whether this is the storage as one node uses it, by a {@link Fence}: a save that succeeded says
   * that nobody had taken over from that node then.
   */
  default boolean fenced() {
    return false;
  }

  @Override
  void close();

  /**
   * A saved state.
   *
   * @param revision what to expect at the next save
   * @param state the bytes as saved; the receiver owns the array
   */
  record Stored(long revision, byte[] state) {}
}

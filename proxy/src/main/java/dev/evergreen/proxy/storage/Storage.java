package dev.evergreen.proxy.storage;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Keeps complete responses, found by their URI's key and, where they vary, by their variant. It
 * knows nothing of HTTP: a head (status, times, header fields) and a body are bytes to it.
 *
 * <p><b>Stamps.</b> A stamp numbers a moment. The caller takes one with {@link #ask}
 * <em>before</em> it asks the origin, and stores the answer under it. A purge has a stamp too, and
 * whatever was asked for before it is gone, also what is still being received then and is stored
 * later. What was asked for earlier, and is stored later, is not stored in the place of what was
 * asked for later.
 *
 * <p>Safe for any number of threads. A lookup that finds its response in memory, or nothing, waits
 * for nothing; one that finds it on disk lets the calling fiber wait while a thread of the system
 * reads. What may wait says so.
 */
public interface Storage extends AutoCloseable {

  /**
   * Opens the storage; what a directory on disk holds of former times, a process that was killed
   * included, is there again. Waits for the disk.
   *
   * @throws IOException if the directory cannot be used, for instance because another process does
   */
  static Storage open(StorageOptions options) throws IOException {
    return TieredStorage.open(options);
  }

  /** The number of this moment, for what nobody {@linkplain #invalidate invalidates} meanwhile. */
  long stamp();

  /**
   * That an origin is about to be asked for a URI's response. To be closed when the answer is
   * stored, or an appender for it was made, or nothing comes of it.
   *
   * @param key as for {@link #find}
   */
  Question ask(MemorySegment key);

  /** That an origin is being asked. */
  interface Question extends AutoCloseable {
    /** The number of the moment before that. */
    long stamp();

    @Override
    void close();
  }

  /**
   * Finds a response. Of several variants the one asked for last that the selector takes is found,
   * unless it {@linkplain Selector#prefers prefers} another.
   *
   * @param key the bytes of the URI's normalised key, at most {@value Entry#MAX_KEY}; read during
   *     the call only
   * @param recipient who reads it
   * @return the response, to be closed; null if there is none
   */
  @Nullable Lease find(MemorySegment key, Selector selector, Recipient recipient);

  /** The same for one who reads nothing else meanwhile. */
  default @Nullable Lease find(MemorySegment key, Selector selector) {
    return find(key, selector, new Recipient());
  }

  /**
   * Finds all variants of a response, that asked for last first; the response itself if it does not
   * vary.
   *
   * @param most how many at most
   * @param which those that it takes
   * @param recipient who reads them
   * @return responses to be closed each; those that cannot be had are missing
   */
  List<Lease> findAll(MemorySegment key, int most, Selector which, Recipient recipient);

  /** The same for one who reads nothing else meanwhile. */
  default List<Lease> findAll(MemorySegment key, int most, Selector which) {
    return findAll(key, most, which, new Recipient());
  }

  /**
   * Begins to store a response that is being received. It can be followed at once, but is found
   * only when it was committed.
   *
   * @param recipient for whom it is asked for
   * @return to be committed or closed
   */
  Appender append(Entry entry, Recipient recipient);

  /** The same for one who reads nothing else meanwhile. */
  default Appender append(Entry entry) {
    return append(entry, new Recipient());
  }

  /**
   * Gives a stored response another head, and perhaps other tags, as a validation does; the body
   * stays. Nothing happens if the response was replaced, purged or evicted since it was found,
   * though that was before the stamp, or if leases and the disk hold so much of the memory that
   * there is none for it. May wait for the disk.
   *
   * @param stamp of before the origin was asked to validate
   * @return whether it was done
   */
  boolean replaceHead(Lease lease, byte[] head, List<String> tags, long stamp);

  /**
   * Purges. When this returns, nothing that was asked for before is found, or is found as stale if
   * the purge is soft; and that stays so when this process is killed or the system goes down. Takes
   * the time of one write to disk, whatever is purged.
   *
   * @throws IOException if that cannot be promised, as the disk does not take it; in this process
   *     the purge holds nevertheless
   */
  void purge(Purge purge) throws IOException;

  /**
   * Purges without waiting for the disk: it holds in this process when this returns, and a moment
   * later it holds for good. For what an unsafe request invalidates. A URI of which nothing is
   * stored, {@linkplain #ask asked for} or being received need not be remembered for that.
   */
  void invalidate(Purge purge);

  /** What the storage holds and has done. */
  StorageStats stats();

  /** Writes what it has to, and closes. All leases and appenders must have been closed before. */
  @Override
  void close();
}

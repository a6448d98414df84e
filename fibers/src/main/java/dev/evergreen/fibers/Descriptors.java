package dev.evergreen.fibers;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The open sockets of a runtime by their numbers.
 *
 * <p>The kernel gives out a number again as soon as it is closed, so an event that was fetched
 * before may speak of a socket that is gone. So each has a key, which is never used twice, and
 * whose lower half is the number; {@link #find} knows only the present owner of the key.
 */
final class Descriptors {

  private static final int CHUNK = 1 << 10;
  private static final int CHUNKS = 1 << 12;

  private final AtomicReferenceArray<@Nullable AtomicReferenceArray<@Nullable Descriptor>> chunks =
      new AtomicReferenceArray<>(CHUNKS);
  private final AtomicInteger generations = new AtomicInteger();

  /** A key for the number {@code fd}: positive, and another one than before. */
  long newKey(int fd) {
    return (long) (generations.incrementAndGet() & Integer.MAX_VALUE) << 32 | fd;
  }

  void add(Descriptor descriptor) {
    chunk(descriptor.number()).set(descriptor.number() % CHUNK, descriptor);
  }

  /** Must come before its number is given back. */
  void remove(Descriptor descriptor) {
    chunk(descriptor.number()).set(descriptor.number() % CHUNK, null);
  }

  @Nullable Descriptor find(long key) {
    int fd = (int) key;
    var chunk = chunks.get(fd / CHUNK);
    var descriptor = chunk == null ? null : chunk.get(fd % CHUNK);
    return descriptor != null && descriptor.key() == key ? descriptor : null;
  }

  private AtomicReferenceArray<@Nullable Descriptor> chunk(int fd) {
    int index = fd / CHUNK;
    if (index >= CHUNKS) {
      throw new IllegalStateException(
          "descriptor " + fd + " is beyond the " + CHUNK * CHUNKS + " that a runtime can have");
    }
    var chunk = chunks.get(index);
    if (chunk == null) {
      chunks.compareAndSet(index, null, new AtomicReferenceArray<>(CHUNK));
      chunk = chunks.get(index);
    }
    if (chunk == null) {
      throw new AssertionError("a chunk vanished");
    }
    return chunk;
  }
}

package dev.evergreen.proxy.storage;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The limits of a storage.
 *
 * @param memory bytes of the tier in memory, all overhead but that of its index included; at least
 *     1 MiB
 * @param memoryObject the largest response, head and key included, that goes to memory, in bytes
 * @param directory of the tier on disk, which is made if need be; null for none
 * @param disk bytes of the tier on disk; at least four segments
 * @param segment bytes of a segment file, 1 MiB to 1 GiB
 * @param meanObject the mean size that responses on disk are expected to have, in bytes: the
 *     directory in memory is made for so many of them
 * @param patience how long a response that cannot be stored waits for its slowest reader
 */
public record StorageOptions(
    long memory,
    int memoryObject,
    @Nullable Path directory,
    long disk,
    int segment,
    int meanObject,
    Duration patience) {

  private static final int MOST_WITHOUT_DISK = 4 << 20;
  private static final int MOST_BESIDE_DISK = 1 << 20;

  /** In memory only; responses of up to 4 MiB, or an eighth of the memory if that is less. */
  public static StorageOptions memory(long bytes) {
    return new StorageOptions(
        bytes,
        (int) Math.min(bytes / 8, MOST_WITHOUT_DISK),
        null,
        0,
        64 << 20,
        8 << 10,
        Duration.ofSeconds(10));
  }

  /** Also on disk, where responses of more than 1 MiB go at once. */
  public StorageOptions onDisk(Path directory, long bytes) {
    int segment = Math.clamp(Long.highestOneBit(bytes / 64), 1 << 20, 256 << 20);
    return new StorageOptions(
        memory,
        Math.min(memoryObject, MOST_BESIDE_DISK),
        directory,
        bytes,
        segment,
        meanObject,
        patience);
  }

  /** With segment files of another size. */
  public StorageOptions segment(int bytes) {
    return new StorageOptions(memory, memoryObject, directory, disk, bytes, meanObject, patience);
  }

  /** With another largest response in memory. */
  public StorageOptions memoryObject(int bytes) {
    return new StorageOptions(memory, bytes, directory, disk, segment, meanObject, patience);
  }

  /** For responses of another mean size on disk. */
  public StorageOptions meanObject(int bytes) {
    return new StorageOptions(memory, memoryObject, directory, disk, segment, bytes, patience);
  }

  /** With another patience. */
  public StorageOptions patience(Duration patience) {
    return new StorageOptions(memory, memoryObject, directory, disk, segment, meanObject, patience);
  }

  /**
   * Checks the limits.
   *
   * @throws IllegalArgumentException if one is out of its range
   */
  public StorageOptions {
    Entry.check("memory", memory, 1 << 20, Long.MAX_VALUE);
    Entry.check("largest response in memory", memoryObject, 1, memory / 4);
    Entry.check("segment", segment, 1 << 20, 1 << 30);
    Entry.check("mean size of responses", meanObject, 256, 1 << 30);
    if (directory != null) {
      Entry.check("disk", disk, 4L * segment, (long) segment << 20);
    }
  }
}

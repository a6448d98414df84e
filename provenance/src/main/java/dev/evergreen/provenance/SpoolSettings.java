package dev.evergreen.provenance;

import java.time.Duration;

/**
 * How a {@link Spool} keeps what is recorded.
 *
 * @param bytes the room on the disk that it may take; at least two segments
 * @param segmentBytes the length of a segment's file, from 256 KiB to 1 GiB, in whole pages of 4
 *     KiB; a file goes when all in it was loaded
 * @param durability what a failure of the power may take away
 * @param overflow what happens when it is full
 * @param batch how often it is forced to the disk with {@link Durability#BATCH}
 */
public record SpoolSettings(
    long bytes, int segmentBytes, Durability durability, Overflow overflow, Duration batch) {

  private static final int PAGE = 4096;
  private static final int LEAST_SEGMENT = 256 << 10;
  private static final int LARGEST_SEGMENT = 1 << 30;

  /** 2 GiB in segments of 64 MiB, forced every 50 ms, and clients wait when it is full. */
  public static final SpoolSettings DEFAULT =
      new SpoolSettings(2L << 30, 64 << 20, Durability.BATCH, Overflow.SLOW, Duration.ofMillis(50));

  /**
   * Checks the settings.
   *
   * @throws IllegalArgumentException if one is out of its bounds
   */
  public SpoolSettings {
    if (segmentBytes < LEAST_SEGMENT
        || segmentBytes > LARGEST_SEGMENT
        || segmentBytes % PAGE != 0) {
      throw new IllegalArgumentException(
          "a segment has 256 KiB to 1 GiB in whole pages of 4 KiB, not " + segmentBytes + " bytes");
    }
    if (bytes < 2L * segmentBytes) {
      throw new IllegalArgumentException(
          "a spool has room for two segments of %d bytes at least, not %d bytes"
              .formatted(segmentBytes, bytes));
    }
    if (batch.isNegative() || batch.isZero()) {
      throw new IllegalArgumentException("the time between two forces is above 0, not " + batch);
    }
  }

  /** The same with that room. */
  public SpoolSettings withBytes(long bytes) {
    return new SpoolSettings(bytes, segmentBytes, durability, overflow, batch);
  }

  /** The same with segments of that length. */
  public SpoolSettings withSegmentBytes(int segmentBytes) {
    return new SpoolSettings(bytes, segmentBytes, durability, overflow, batch);
  }

  /** The same with that durability. */
  public SpoolSettings withDurability(Durability durability) {
    return new SpoolSettings(bytes, segmentBytes, durability, overflow, batch);
  }

  /** The same with that overflow. */
  public SpoolSettings withOverflow(Overflow overflow) {
    return new SpoolSettings(bytes, segmentBytes, durability, overflow, batch);
  }

  /** The most numbers that a segment gives: at least the length of each body is in it. */
  int mostNumbers() {
    return segmentBytes / Integer.BYTES;
  }

  int segments() {
    return Math.toIntExact(bytes / segmentBytes);
  }
}

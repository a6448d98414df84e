package dev.evergreen.provenance;

import java.time.Duration;

/**
 * How much of the past a trace keeps. What is beyond is <em>folded</em>: reads go, and writes that
 * later ones have replaced. So answers of now are the same, and stay whole. If what is left is
 * still too large, the oldest of it is removed, and answers that would need it say that they reach
 * before the recording.
 *
 * @param age how old an operation may become before it is folded
 * @param bytes how much the database may take, at least {@link #LEAST_BYTES}. It is brought below
 *     by some hundred operations at a time, so that no more goes than has to. Of an SQLite file
 *     only the pages that hold something count: the others are used again, the file stays as long.
 *     For PostgreSQL there is no such limit, since what is removed makes its tables no smaller
 */
public record Retention(Duration age, long bytes) {
  /** Everything is kept. */
  public static final Retention ALL = new Retention(Duration.ofDays(36_500), Long.MAX_VALUE);

  /** A smaller limit could not be kept, since tables without rows take some of it. */
  public static final long LEAST_BYTES = 1 << 20;

  /** Checks the limits. */
  public Retention {
    if (age.isNegative() || bytes < LEAST_BYTES) {
      throw new IllegalArgumentException(
          "%s and %d bytes: the age must not be negative, and a trace takes at least %d bytes"
              .formatted(age, bytes, LEAST_BYTES));
    }
  }

  /** Whether there is a limit for the bytes. */
  boolean limitsBytes() {
    return bytes != Long.MAX_VALUE;
  }
}

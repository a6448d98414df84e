package dev.evergreen.provenance;

import java.time.Duration;

/**
 * How much of the past a trace keeps. What is beyond is <em>folded</em>: reads go, and writes that
 * later ones have replaced. So answers of now are the same, and stay whole. If what is left is
 * still too large, the oldest of it is removed, and answers that would need it say that they reach
 * before the recording.
 *
 * @param age how old an operation may become before it is folded
 * @param bytes how much the database may take
 */
public record Retention(Duration age, long bytes) {
  /** Everything is kept. */
  public static final Retention ALL = new Retention(Duration.ofDays(36_500), Long.MAX_VALUE);
}

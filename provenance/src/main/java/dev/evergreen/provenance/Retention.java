package dev.evergreen.provenance;

import java.time.Duration;

/**
 * How much of the past a trace keeps. What is beyond is removed, the oldest operations first, and
 * answers that would need them say that they reach before the recording.
 *
 * @param age how old an operation may become
 * @param bytes how much the database may take
 */
public record Retention(Duration age, long bytes) {
  /** Everything is kept. */
  public static final Retention ALL = new Retention(Duration.ofDays(36_500), Long.MAX_VALUE);
}

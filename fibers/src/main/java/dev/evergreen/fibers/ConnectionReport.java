package dev.evergreen.fibers;

import java.time.Duration;
import java.time.Instant;

/**
 * What has gone over a connection so far.
 *
 * @param opened when it was made or accepted
 * @param idle since when nothing has moved, to about a millisecond
 * @param received bytes that were read
 * @param sent bytes that the system has taken
 */
public record ConnectionReport(Instant opened, Duration idle, long received, long sent) {}

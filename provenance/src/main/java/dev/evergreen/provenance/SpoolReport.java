package dev.evergreen.provenance;

/**
 * How a spool is doing.
 *
 * @param nextNumber the number that the next frame gets
 * @param durable all frames of lower numbers are forced to the disk; 0 with {@link Durability#NONE}
 * @param segments how many files there are
 * @param dropped how many frames were dropped because it was full
 * @param waits how often somebody had to wait because it was full
 */
public record SpoolReport(long nextNumber, long durable, int segments, long dropped, long waits) {}

package dev.evergreen.core.sim;

/**
 * A result with the versions of its grain's state that it was computed from.
 *
 * @param first at the begin of the operation
 * @param last at its end, after all its reading of other grains
 */
record Audit(long value, long first, long last) {}

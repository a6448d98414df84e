package dev.evergreen.core;

import org.jspecify.annotations.Nullable;

/**
 * A result of a computation together with how far it is to be trusted, as of one moment.
 *
 * @param version counts the computation's results from 1: of two snapshots of one computation, the
 *     one with the greater version has the later result
 * @param freshness whether the result was known to be current
 */
public record Snapshot<T extends @Nullable Object>(
    Result<T> result, long version, Freshness freshness) {}

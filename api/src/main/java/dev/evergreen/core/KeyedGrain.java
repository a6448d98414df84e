package dev.evergreen.core;

/**
 * A virtual actor whose key is not a string (004 §2). Extend this interface with the operations of
 * the grain.
 *
 * @param <K> the key: {@link String}, {@link Long}, {@link java.util.UUID}, or a record of strings,
 *     integers, booleans, UUIDs, enums and dates
 * @see Grain
 */
public interface KeyedGrain<K> {}

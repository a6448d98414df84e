package dev.evergreen.store;

/**
 * What of a store's items is new, and what is proven, as it was read while it was new or came back
 * soon after it was evicted. New ones are evicted first.
 *
 * @param provenItems those that are proven; all others are new
 * @param segments how many pieces the memory in use has
 * @param newSeconds for how long the oldest new ones have been there
 * @param provenSeconds for how long the oldest proven ones have been so, or were last kept
 * @param newHits reads that found a new item, since the store was opened or its counts were reset
 * @param provenHits reads that found one that is proven
 */
public record StoreQueues(
    long provenItems,
    int segments,
    int newSeconds,
    int provenSeconds,
    long newHits,
    long provenHits) {}

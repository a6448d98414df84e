package dev.evergreen.store;

/**
 * What a store holds and what it has done since it was opened, or its counts were reset.
 *
 * @param items items that are linked, expired ones that were not yet noticed included
 * @param totalItems how often an item was stored
 * @param bytes of all records of linked items
 * @param limit the most bytes of memory for items
 * @param memory bytes of the segments in use, never more than the limit
 * @param indexBytes bytes of the index, beside the limit
 * @param heldBytes bytes of memory that readers and reservations hold
 * @param evictions items evicted while they were valid
 * @param evictedUnfetched those of them that were never read
 * @param expiredUnfetched items found to have expired that were never read
 * @param reclaimed items found to have expired or to be flushed, whose memory was taken back
 * @param missesExpired lookups that found an item that had expired
 * @param missesFlushed lookups that found an item that was flushed
 * @param movedBytes bytes copied to compact memory or to keep items
 */
public record StoreStats(
    long items,
    long totalItems,
    long bytes,
    long limit,
    long memory,
    long indexBytes,
    long heldBytes,
    long evictions,
    long evictedUnfetched,
    long expiredUnfetched,
    long reclaimed,
    long missesExpired,
    long missesFlushed,
    long movedBytes) {}

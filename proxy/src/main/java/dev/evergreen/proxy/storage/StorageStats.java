package dev.evergreen.proxy.storage;

/**
 * What a storage holds and what it has done since it was opened.
 *
 * @param memoryObjects responses in memory, lists of variants included
 * @param memoryBytes bytes of their records
 * @param memoryLimit the most bytes of memory for them
 * @param memoryIndexBytes bytes of their index, beside the limit
 * @param memoryHits lookups that were answered from memory
 * @param diskObjects responses on disk, lists of variants included
 * @param diskBytes bytes of the segment files in use
 * @param diskLimit the most bytes of them
 * @param directoryBytes bytes of the directory in memory
 * @param diskHits lookups that were answered from disk
 * @param misses lookups that found nothing
 * @param stored responses that were stored
 * @param unstored responses that were received but could not be stored
 * @param abandoned responses that were not received completely
 * @param evictedMemory responses evicted from memory
 * @param evictedDisk responses evicted from disk
 * @param keptDisk responses kept when their segment was evicted, as they had been read
 * @param diskWrites bytes written to segments
 * @param diskErrors failed reads and writes
 * @param corrupt records that were found damaged
 * @param purges purges that were made
 * @param marks purges that are remembered, as something older may still be there
 */
public record StorageStats(
    long memoryObjects,
    long memoryBytes,
    long memoryLimit,
    long memoryIndexBytes,
    long memoryHits,
    long diskObjects,
    long diskBytes,
    long diskLimit,
    long directoryBytes,
    long diskHits,
    long misses,
    long stored,
    long unstored,
    long abandoned,
    long evictedMemory,
    long evictedDisk,
    long keptDisk,
    long diskWrites,
    long diskErrors,
    long corrupt,
    long purges,
    long marks) {}

package dev.evergreen.store;

/**
 * What a store has done to keep its memory in order since it was opened, or its counts were reset.
 *
 * @param rounds how often it was maintained
 * @param sweeps segments that were walked for what has expired
 * @param sweptItems items looked at in them
 * @param sweptReclaimed those of them whose memory was taken back
 * @param compactions segments that were compacted
 * @param compactedItems records that were moved by that
 * @param proven new items that were kept when their segment was evicted, as they had been read
 * @param provenAgain older items that were kept then
 * @param directReclaims how often a writer had to make room itself
 * @param evictedActive items evicted although they had been read lately
 * @param evictedExpiring items evicted that would have expired some day
 * @param evictedIdle for how many seconds the item that was evicted last had not been read
 */
public record StoreUpkeep(
    long rounds,
    long sweeps,
    long sweptItems,
    long sweptReclaimed,
    long compactions,
    long compactedItems,
    long proven,
    long provenAgain,
    long directReclaims,
    long evictedActive,
    long evictedExpiring,
    int evictedIdle) {}

package dev.evergreen.core.spi;

/**
 * What a node holds at a moment; all zero when nothing is in use.
 *
 * @param activations grains that are active here
 * @param computations reactive computations that are not closed
 * @param summaries operations of grains here whose results are kept
 * @param caches copies of results that computations here read
 * @param subscriptions caches, here and elsewhere, that summaries here push to
 * @param calls calls from outside or other nodes that are not yet answered
 */
public record NodeCounts(
    int activations, int computations, int summaries, int caches, int subscriptions, int calls) {}

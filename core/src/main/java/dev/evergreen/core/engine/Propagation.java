package dev.evergreen.core.engine;

/** What summaries compute their results from, and send them by. It knows none of them. */
record Propagation(
    Base base, Caches caches, Outboxes outboxes, CycleSearch cycles, Backlog backlog) {}

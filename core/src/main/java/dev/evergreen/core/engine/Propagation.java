package dev.evergreen.core.engine;

import dev.evergreen.core.work.Backlog;

/** What summaries compute their results from, and send them by. It knows none of them. */
record Propagation(
    Base base, Caches caches, Outboxes outboxes, CycleSearch cycles, Backlog backlog) {}

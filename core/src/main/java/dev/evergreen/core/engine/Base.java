package dev.evergreen.core.engine;

import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.model.Models;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.Placement;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Tracing;
import dev.evergreen.core.work.ChainClock;
import dev.evergreen.core.work.Workers;

/** What all parts of a node stand on. It knows none of them. */
record Base(
    NodeSettings settings,
    Workers workers,
    Peers peers,
    Placement placement,
    Storage storage,
    Models models,
    ChainClock chainClock,
    Lifetime lifetime,
    NodeObserver observer,
    Tracing tracing) {}

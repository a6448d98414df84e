package dev.evergreen.core.spi;

import java.util.random.RandomGenerator;

/**
 * All that a node needs of the world.
 *
 * @param self this node
 * @param random for jitter; seeded in the simulation
 */
public record Engine(
    NodeId self,
    Clock clock,
    Threads threads,
    Links links,
    Placement placement,
    Storage storage,
    RandomGenerator random) {}

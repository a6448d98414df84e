/**
 * Links of our own between nodes, the data plane of a cluster: one connection per pair of nodes,
 * which carries the messages of {@link dev.evergreen.core.spi.Message}. {@code docs/protocol.md}
 * describes what goes over the wire.
 */
@NullMarked
package dev.evergreen.cluster.links;

import org.jspecify.annotations.NullMarked;

/**
 * Nodes of a cluster. Apache Pekko is the control plane: who belongs to the cluster, who is dead,
 * and which node owns which partition of the grains. Calls and results go over {@link
 * dev.evergreen.cluster.links links} of our own. No other module knows Pekko.
 *
 * <p>Start with {@link dev.evergreen.cluster.ClusterNode#builder}.
 */
@NullMarked
package dev.evergreen.cluster;

import org.jspecify.annotations.NullMarked;

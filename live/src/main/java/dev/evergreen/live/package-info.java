/**
 * Results of computations as the edges show them: as bytes that are made once for each value,
 * however many look, kept while somebody looks and for a while after, and held within budgets.
 *
 * <p>A {@link dev.evergreen.live.LiveResult} is one computation with the bytes of its latest
 * result; {@link dev.evergreen.live.LiveResults} are all of an edge. An edge says how it shows
 * results by a {@link dev.evergreen.live.Rendering}, and what it does when there is another by
 * extending {@code LiveResult}: the web server tells its connections, the memcached server puts the
 * bytes into its store.
 */
@NullMarked
package dev.evergreen.live;

import org.jspecify.annotations.NullMarked;

/**
 * A load generator for memcached servers: open and closed loop, over any number of connections and
 * processes, with checked replies.
 */
@NullMarked
package dev.evergreen.bench.load;

import org.jspecify.annotations.NullMarked;

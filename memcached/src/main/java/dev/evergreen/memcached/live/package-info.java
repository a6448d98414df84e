/** Items whose values are results of reactive computations, kept true while they are asked for. */
@NullMarked
package dev.evergreen.memcached.live;

import org.jspecify.annotations.NullMarked;

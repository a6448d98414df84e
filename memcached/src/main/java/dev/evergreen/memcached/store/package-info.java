/** The memory of the memcached server: items outside the heap, within an exact limit. */
@NullMarked
package dev.evergreen.memcached.store;

import org.jspecify.annotations.NullMarked;

/** A server that speaks memcached's protocols, on fibers and the store. */
@NullMarked
package dev.evergreen.memcached;

import org.jspecify.annotations.NullMarked;

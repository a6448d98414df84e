/**
 * The memory of a cache: items outside the heap, within an exact limit. Its requests are those of
 * memcached's protocol, since its rules (CAS numbers, staleness, the right to renew) are kept under
 * the same locks as the items; other caches use the few that they need.
 */
@NullMarked
package dev.evergreen.store;

import org.jspecify.annotations.NullMarked;

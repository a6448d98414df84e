/** The shim that stands between clients and a Redis. */
@NullMarked
package dev.evergreen.shims.redis;

import org.jspecify.annotations.NullMarked;

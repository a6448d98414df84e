/** An HTTP caching proxy. */
@NullMarked
package dev.evergreen.proxy;

import org.jspecify.annotations.NullMarked;

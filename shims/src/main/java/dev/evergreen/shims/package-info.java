/** Stand between clients and a store, and record what passes. */
@NullMarked
package dev.evergreen.shims;

import org.jspecify.annotations.NullMarked;

/** Values outside the heap, in a bounded log with an index, for caches. */
@NullMarked
package dev.evergreen.store;

import org.jspecify.annotations.NullMarked;

/** Two versions of one program in one process, as during a rolling upgrade. */
@NullMarked
package dev.evergreen.core.version;

import org.jspecify.annotations.NullMarked;

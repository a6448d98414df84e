/** One suite over the paper's three variants. */
@NullMarked
package dev.evergreen.chirper.variants;

import org.jspecify.annotations.NullMarked;

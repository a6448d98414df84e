/** What was asked of a store and answered, kept, and which requests caused an answer. */
@NullMarked
package dev.evergreen.provenance;

import org.jspecify.annotations.NullMarked;

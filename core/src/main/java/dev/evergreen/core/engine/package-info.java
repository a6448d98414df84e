/**
 * The algorithm: calls, activations, summaries and caches. What its parts are, and in which order
 * they know of each other, is in docs/architecture.md.
 */
@NullMarked
package dev.evergreen.core.engine;

import org.jspecify.annotations.NullMarked;

/**
 * The world as the core sees it: clock, threads, links, placement and storage. An engine implements
 * these; applications do not use them.
 */
@NullMarked
package dev.evergreen.core.spi;

import org.jspecify.annotations.NullMarked;

/**
 * The world as a node sees it. An {@link Engine} gives it clock, threads, links and placement, a
 * {@link Storage} keeps its states, a {@link NodeObserver} is told what happens, and {@link
 * Message}s are what nodes say to each other. Applications need none of these.
 */
@NullMarked
package dev.evergreen.core.spi;

import org.jspecify.annotations.NullMarked;

/**
 * Grain interfaces, checked, and the calls of their operations: as objects, and as what nodes tell
 * each other of them. It runs nothing.
 */
@NullMarked
package dev.evergreen.core.model;

import org.jspecify.annotations.NullMarked;

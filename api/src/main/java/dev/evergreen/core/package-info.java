/**
 * Grains and reactive computations.
 *
 * <p>A {@linkplain dev.evergreen.core.Grain grain} is a virtual actor: an object with a key, a
 * state and operations, activated where and when it is called. A {@linkplain
 * dev.evergreen.core.ReactiveComputation reactive computation} is a function over grains whose
 * result is computed once and then kept true: the runtime finds out what it depends on and delivers
 * the new result whenever it differs.
 */
@NullMarked
package dev.evergreen.core;

import org.jspecify.annotations.NullMarked;

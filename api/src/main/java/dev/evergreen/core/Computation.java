package dev.evergreen.core;

import org.jspecify.annotations.Nullable;

/**
 * A function over grains. It may be run any number of times, on any thread, and should depend on
 * nothing but the read-only operations it calls.
 */
@FunctionalInterface
public interface Computation<T extends @Nullable Object> {

  T compute() throws Exception;
}

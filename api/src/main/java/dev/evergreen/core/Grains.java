package dev.evergreen.core;

import java.time.Duration;

/**
 * Where references to grains come from. A reference is small, is never null and needs no closing;
 * having one says nothing about whether the grain is activated.
 *
 * <p>Calling an operation on a reference blocks until the result is there. It throws what the
 * operation threw, or a {@link GrainException} of the runtime: {@link GrainTimeoutException} after
 * 30 seconds by default, {@link CycleException}, {@link NotStartedException}, and others.
 */
public interface Grains {

  /**
   * The reference of the grain of this type and key.
   *
   * @throws GrainException if the interface declares an operation whose arguments or result are no
   *     values, or if the key is none
   */
  <K, T extends KeyedGrain<K>> T get(Class<T> type, K key);

  /** The same grains, with another time limit for each call. */
  Grains withTimeout(Duration timeout);
}

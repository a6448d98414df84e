package dev.evergreen.bench;

import org.openjdk.jmh.annotations.Mode;

/**
 * A JMH benchmark method and how it is called.
 *
 * @param mode {@link Mode#SampleTime} for the median of single calls in nanoseconds, {@link
 *     Mode#Throughput} for calls a second
 * @param callers how many threads call it
 * @param virtual whether these are virtual threads
 */
record Variant(Class<?> owner, String method, Mode mode, int callers, boolean virtual) {

  /** The median of single calls by one virtual thread. */
  static Variant sampled(Class<?> owner, String method) {
    return new Variant(owner, method, Mode.SampleTime, 1, true);
  }

  /** How many calls a second this many virtual threads make together. */
  static Variant counted(Class<?> owner, String method, int callers) {
    return new Variant(owner, method, Mode.Throughput, callers, true);
  }

  Variant fromPlatformThread() {
    return new Variant(owner, method, mode, callers, false);
  }

  /** What JMH selects it by. */
  String pattern() {
    return "^" + owner.getName().replace(".", "\\.") + "\\." + method + "$";
  }
}

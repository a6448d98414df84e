package dev.evergreen.core;

/** A timer of a grain. */
public interface GrainTimer {

  /** No turn of this timer starts afterwards. Any thread may call it, any number of times. */
  void cancel();
}

package dev.evergreen.core;

/**
 * A virtual actor with a string key (004 §2). Extend this interface with the operations of the
 * grain: plain methods whose arguments and results are values.
 *
 * <pre>{@code
 * public interface User extends Grain {
 *   @ReadOnly List<Chirp> messages(Instant from);
 *   void post(Instant at, String text);
 * }
 * }</pre>
 *
 * <p>An operation runs as one turn of its activation: no other operation of the same activation
 * runs at the same time, and others get in between only at blocking points of the runtime, and only
 * where {@link ReadOnly} or {@link Reentrant} admit it.
 */
public interface Grain extends KeyedGrain<String> {}

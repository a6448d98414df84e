package dev.evergreen.core.sim;

import java.util.List;

/** A step of a formula's program, which works on a sum. */
sealed interface Step {

  /** Adds what it reads. */
  record Add(Ref ref) implements Step {}

  /** Adds what it reads, all at the same time. */
  record AddAll(List<Ref> refs) implements Step {}

  /** Adds what it reads, all at the same time, or something else if one fails. */
  record AddAllOr(List<Ref> refs, long otherwise) implements Step {}

  /** Leaves out the next steps if what it reads is odd: a condition that changes dependencies. */
  record SkipIfOdd(Ref ref, int steps) implements Step {}

  /** Adds what it reads, or something else if reading fails. */
  record AddOr(Ref ref, long otherwise) implements Step {}

  /** Adds another result of the same grain: a call to oneself. */
  record AddOwn(int argument) implements Step {}

  /** Fails if the sum is odd. */
  record FailIfOdd(String message) implements Step {}

  /** Adds what it reads, or something else if that takes longer than {@code nanos}. */
  record AddWithin(Ref ref, long nanos, long otherwise) implements Step {}

  /** Waits. */
  record Wait(long nanos) implements Step {}

  /** Waits, or adds something if it is interrupted, and tells nobody of that. */
  record WaitOr(long nanos, long otherwise) implements Step {}

  /** Leaves out the next steps unless the argument is this one. */
  record OnlyFor(int argument, int steps) implements Step {}

  /** Multiplies the sum. */
  record Times(long factor) implements Step {}
}

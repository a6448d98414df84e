package dev.evergreen.core;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.function.BiPredicate;

/**
 * Names the comparer that decides whether a new result of a read-only operation is the same as the
 * one before, in which case it is not propagated. Without it results are compared by their encoded
 * bytes.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface SameBy {

  /**
   * A class with a constructor without parameters. One object serves all nodes of a process; it is
   * called with two results, never null, by several of their threads at a time, so it should keep
   * nothing. It should be quick and call no grain: as long as it has not returned, the former
   * result is shown.
   */
  Class<? extends BiPredicate<?, ?>> value();
}

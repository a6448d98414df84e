package dev.evergreen.core;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks an operation that changes nothing: it may call only other read-only operations and may not
 * set state; the runtime refuses the rest. Read-only operations of one activation interleave at
 * their blocking points, are retried when their grain moves, and are what computations may call.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface ReadOnly {}

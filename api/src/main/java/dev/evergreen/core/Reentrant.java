package dev.evergreen.core;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a grain interface whose operations may be entered again by a call chain that already holds
 * the activation. Without it such a call fails at once with a {@link CycleException}. A grain that
 * is entered again finds its state as the waiting operation left it.
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface Reentrant {}

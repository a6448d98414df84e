package dev.evergreen.core;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Names a grain interface in storage and between nodes. Without it the simple name of the interface
 * is used, and renaming the interface loses its stored state.
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface GrainType {

  /** Letters, digits, '.', '-' and '_'. */
  String value();
}

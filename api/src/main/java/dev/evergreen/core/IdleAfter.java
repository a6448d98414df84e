package dev.evergreen.core;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Says of a grain interface how long its activations are kept without calls and subscribers,
 * instead of the node's {@link NodeSettings#idleAfter}. For grains whose keys strangers choose: a
 * short time bounds what they fill of the memory. A node looks for activations to end each third of
 * its own {@code idleAfter}, or of {@link NodeSettings#leaseFor} if that is shorter.
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface IdleAfter {

  /** At least one. */
  int seconds();
}

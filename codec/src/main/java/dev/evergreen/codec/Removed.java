package dev.evergreen.codec;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Names components that earlier versions of a record had and that are gone on purpose. Bytes that
 * have them are read as if they had not; without this they count as what only a newer version knows
 * ({@link ValueType.Read}).
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface Removed {
  /** The components' names. */
  String[] value();
}

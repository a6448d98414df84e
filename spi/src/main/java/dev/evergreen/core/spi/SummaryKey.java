package dev.evergreen.core.spi;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A grain, an operation and its arguments, as nodes name them to each other.
 *
 * @param operation its name and parameter types
 * @param arguments the encoded arguments
 */
public record SummaryKey(GrainId grain, String operation, byte[] arguments) {

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof SummaryKey that
        && grain.equals(that.grain)
        && operation.equals(that.operation)
        && Arrays.equals(arguments, that.arguments);
  }

  @Override
  public int hashCode() {
    return (grain.hashCode() * 31 + operation.hashCode()) * 31 + Arrays.hashCode(arguments);
  }

  @Override
  public String toString() {
    return grain + "." + operation;
  }
}

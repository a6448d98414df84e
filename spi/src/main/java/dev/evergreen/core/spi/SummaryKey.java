package dev.evergreen.core.spi;

import java.util.Arrays;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/**
 * A grain, an operation and its arguments, as nodes name them to each other. They have an order, so
 * that tables find those whose hashes are the same, which whoever chooses arguments can see to.
 *
 * @param operation its name and parameter types
 * @param arguments the encoded arguments
 */
public record SummaryKey(GrainId grain, String operation, byte[] arguments)
    implements Comparable<SummaryKey> {

  private static final Comparator<SummaryKey> ORDER =
      Comparator.comparing(SummaryKey::grain)
          .thenComparing(SummaryKey::operation)
          .thenComparing(SummaryKey::arguments, Arrays::compare);

  @Override
  public int compareTo(SummaryKey other) {
    return ORDER.compare(this, other);
  }

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

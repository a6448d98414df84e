package dev.evergreen.core;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A grain, an operation and its arguments: what a summary and its caches are of. Arguments are keys
 * by their encoded bytes; where {@code equals} says the same, the bytes are not made. The hash is
 * the same in every process.
 */
final class CallKey {

  private final GrainModel model;
  private final GrainId grain;
  private final Operation operation;
  private final Object[] arguments;
  private final int hash;

  /**
   * Made when it is first asked for; any thread may make it, and all make the same. Where arguments
   * have methods of the application's it is made by the constructor, so that later none is called.
   */
  private @Nullable SummaryKey wire;

  CallKey(GrainModel model, GrainId grain, Operation operation, Object[] arguments) {
    this.model = model;
    this.grain = grain;
    this.operation = operation;
    this.arguments = arguments;
    int argumentsHash =
        operation.plain() ? Arrays.hashCode(arguments) : Arrays.hashCode(encodedArguments());
    this.hash = (grain.hashCode() * 31 + operation.hashCode()) * 31 + argumentsHash;
  }

  GrainModel model() {
    return model;
  }

  GrainId grain() {
    return grain;
  }

  Operation operation() {
    return operation;
  }

  Object[] arguments() {
    return arguments;
  }

  byte[] encodedArguments() {
    return wire().arguments();
  }

  SummaryKey wire() {
    var name = wire;
    if (name == null) {
      name = new SummaryKey(grain, operation.signature(), operation.encode(arguments));
      wire = name;
    }
    return name;
  }

  /**
   * The arguments as people write them, separated by commas. Messages of failures name them, so
   * that this must not fail where the application's {@code toString} does.
   */
  String argumentsText() {
    try {
      var text = Arrays.toString(arguments);
      return text.substring(1, text.length() - 1);
    } catch (RuntimeException | Error e) {
      return "?";
    }
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return this == other
        || (other instanceof CallKey that
            && hash == that.hash
            && operation.equals(that.operation)
            && grain.equals(that.grain)
            && (operation.plain()
                ? Arrays.equals(arguments, that.arguments)
                : Arrays.equals(encodedArguments(), that.encodedArguments())));
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return grain + "." + operation.name() + "(" + argumentsText() + ")";
  }
}

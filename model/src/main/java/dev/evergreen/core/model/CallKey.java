package dev.evergreen.core.model;

import dev.evergreen.core.GrainException;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.SummaryKey;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A grain, an operation and its arguments: what a summary and its caches are of. Arguments are keys
 * by their encoded bytes; where {@code equals} says the same, the bytes are not made. The hash is
 * the same in every process, so that whoever chooses arguments can choose such with one hash:
 * tables find these by their order.
 */
public final class CallKey implements Comparable<CallKey> {

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

  public CallKey(GrainModel model, GrainId grain, Operation operation, Object[] arguments) {
    this.model = model;
    this.grain = grain;
    this.operation = operation;
    this.arguments = arguments;
    int argumentsHash =
        operation.plain() ? Arrays.hashCode(arguments) : Arrays.hashCode(encodedArguments());
    this.hash = (grain.hashCode() * 31 + operation.hashCode()) * 31 + argumentsHash;
  }

  public GrainModel model() {
    return model;
  }

  public GrainId grain() {
    return grain;
  }

  public Operation operation() {
    return operation;
  }

  public Object[] arguments() {
    return arguments;
  }

  public byte[] encodedArguments() {
    return wire().arguments();
  }

  public SummaryKey wire() {
    var name = wire;
    if (name == null) {
      name = new SummaryKey(grain, operation.signature(), operation.encode(arguments));
      wire = name;
    }
    return name;
  }

  /** What tells the call from others of the same grain, in few bytes. */
  public byte[] digest() {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      sha.update(operation.signature().getBytes(StandardCharsets.UTF_8));
      return sha.digest(encodedArguments());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /**
   * The arguments as people write them, separated by commas. Messages of failures name them, so
   * that this must not fail where the application's {@code toString} does.
   */
  public String argumentsText() {
    try {
      var text = Arrays.toString(arguments);
      return text.substring(1, text.length() - 1);
    } catch (Throwable e) {
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

  /** By the names; those that are too large to have one come last, not told from each other. */
  @Override
  public int compareTo(CallKey other) {
    var mine = nameIfAny();
    var theirs = other.nameIfAny();
    return mine == null || theirs == null
        ? Boolean.compare(mine == null, theirs == null)
        : mine.compareTo(theirs);
  }

  private @Nullable SummaryKey nameIfAny() {
    try {
      return wire();
    } catch (GrainException e) {
      return null;
    }
  }

  @Override
  public String toString() {
    return grain + "." + operation.name() + "(" + argumentsText() + ")";
  }
}

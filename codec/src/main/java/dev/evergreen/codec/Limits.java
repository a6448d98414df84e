package dev.evergreen.codec;

/**
 * Bounds that keep hostile or accidental input from exhausting memory or stack.
 *
 * @param maxBytes the most bytes one encoded value may have
 * @param maxDepth the deepest nesting of records and containers
 */
public record Limits(int maxBytes, int maxDepth) {

  /** 16 MiB, 200 levels. */
  public static final Limits DEFAULT = new Limits(16 << 20, 200);
}

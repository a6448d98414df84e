package dev.evergreen.core.spi;

import java.util.Comparator;

/**
 * The identity of a grain, in storage and between nodes.
 *
 * @param type the name of its type
 * @param key the text of its key; different keys of a type have different texts
 */
public record GrainId(String type, String key) implements Comparable<GrainId> {

  private static final Comparator<GrainId> ORDER =
      Comparator.comparing(GrainId::type).thenComparing(GrainId::key);

  @Override
  public int compareTo(GrainId other) {
    return ORDER.compare(this, other);
  }

  /** A well-mixed hash that is the same in every process, for placement. */
  public int stableHash() {
    int hash = type.hashCode() * 31 + key.hashCode();
    hash = (hash ^ (hash >>> 16)) * 0x85ebca6b;
    hash = (hash ^ (hash >>> 13)) * 0xc2b2ae35;
    return hash ^ (hash >>> 16);
  }

  @Override
  public String toString() {
    return type + "/" + key;
  }
}

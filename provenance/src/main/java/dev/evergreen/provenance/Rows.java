package dev.evergreen.provenance;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/** A set of rows, of which there may be millions, and which are near to each other as a rule. */
final class Rows {
  /** So many bits of a row are its place in a part: a part with one row takes 150 bytes. */
  private static final int BITS = 9;

  private final Map<Long, BitSet> parts = new HashMap<>();

  /** Adds a row, and tells whether it was not there. */
  boolean add(long row) {
    var part = parts.computeIfAbsent(row >> BITS, _ -> new BitSet());
    int place = (int) row & ((1 << BITS) - 1);
    boolean isNew = !part.get(place);
    part.set(place);
    return isNew;
  }
}

package dev.evergreen.provenance;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The definition of wat-provenance, carried out: what a specification is tested by. The store
 * itself runs each part of a short history and answers; this tells which of the parts are closed
 * witnesses of the last answer, and which of those are minimal.
 */
public final class Definition {
  private final boolean[] closed;

  /**
   * What the definition says of the last of these answers.
   *
   * @param answers the store's answer after each part of the history: at the index in which bit 0
   *     is set if the first element is in the part, and so on. So there are two to the power of the
   *     number of elements, and the last is the answer after the whole history
   */
  public Definition(List<?> answers) {
    if (Integer.bitCount(answers.size()) != 1) {
      throw new IllegalArgumentException(
          answers.size() + " answers: there must be one for each part of a history");
    }
    closed = new boolean[answers.size()];
    for (int part = closed.length - 1; part >= 0; part--) {
      boolean all = answers.get(part).equals(answers.getLast());
      for (int element = 1; element < closed.length && all; element <<= 1) {
        all = closed[part | element] || (part & element) != 0;
      }
      closed[part] = all;
    }
  }

  /**
   * Whether the part that consists of these elements, counted from 1 on, is a witness with all that
   * contain it.
   */
  public boolean isClosed(Set<Long> elements) {
    return closed[elements.stream().mapToInt(element -> 1 << (element - 1)).sum()];
  }

  /** The minimal ones among the closed witnesses, each as its elements, counted from 1 on. */
  public Set<Set<Long>> witnesses() {
    var minimal = new HashSet<Set<Long>>();
    for (int part = 0; part < closed.length; part++) {
      boolean least = closed[part];
      for (int rest = part; rest != 0 && least; rest &= rest - 1) {
        least = !closed[part & ~Integer.lowestOneBit(rest)];
      }
      if (least) {
        minimal.add(elements(part));
      }
    }
    return minimal;
  }

  private static Set<Long> elements(int part) {
    return IntStream.range(0, 31)
        .filter(bit -> (part & (1 << bit)) != 0)
        .mapToObj(bit -> bit + 1L)
        .collect(Collectors.toSet());
  }
}

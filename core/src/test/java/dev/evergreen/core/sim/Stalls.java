package dev.evergreen.core.sim;

import dev.evergreen.core.Grains;
import dev.evergreen.core.version.Program;
import java.util.List;
import java.util.stream.Stream;

/**
 * How a node uses stalls, which are grains of a program in two versions.
 *
 * @param program in the node's version
 */
record Stalls(Program program) {

  /**
   * A stall's state; as {@link Cell.Contents}.
   *
   * @param noted what nodes of the newer version have done, as far as all know that who are asked
   */
  record Contents(long value, long version, List<Long> applied, List<Long> noted) {

    /** Without what only the newer version knows. */
    Contents ofBoth() {
      return new Contents(value, version, applied, List.of());
    }
  }

  /**
   * What came of a write.
   *
   * @param noted whether a node of the newer version has performed it
   */
  record Receipt(long version, boolean noted) {}

  long price(Grains grains, Ref.OfStall ref) {
    return Long.parseLong(
        program.ask(grains, "price " + ref.key() + " " + ref.added() + " t" + ref.tag()));
  }

  Receipt put(Grains grains, String key, long action, long value) {
    var words = program.ask(grains, "put " + key + " " + action + " " + value).split(" ", -1);
    return new Receipt(Long.parseLong(words[0]), Boolean.parseBoolean(words[1]));
  }

  Contents contents(Grains grains, String key) {
    var words = program.ask(grains, "contents " + key).split(" ", -1);
    return new Contents(
        Long.parseLong(words[0]),
        Long.parseLong(words[1]),
        numbers(words[2]),
        words.length > 3 ? numbers(words[3]) : List.of());
  }

  private static List<Long> numbers(String text) {
    var inside = text.substring(1, text.length() - 1);
    return inside.isEmpty()
        ? List.of()
        : Stream.of(inside.split(",", -1)).map(Long::valueOf).toList();
  }
}

package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Touch;
import dev.evergreen.provenance.Touch.Effect;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Where commands name their keys, and whether they write, as the server's own COMMAND tells: all
 * that is known of those that no family speaks of.
 */
final class DefaultKeys {
  /** The table does not tell of the key behind their word STORE. */
  private static final Set<String> STORE_ELSEWHERE =
      Set.of("SORT", "GEORADIUS", "GEORADIUSBYMEMBER");

  private record Places(boolean write, int first, int last, int step) {}

  private final Map<String, Places> commands = new HashMap<>();

  private DefaultKeys() {}

  /**
   * Reads the table: a line for each command, with its name, {@code w} or {@code r}, and the places
   * of the first and the last key and the step between.
   */
  static DefaultKeys load() {
    var keys = new DefaultKeys();
    var table =
        Objects.requireNonNull(
            DefaultKeys.class.getResourceAsStream("keys.txt"),
            "the table of keys is beside this class");
    try (var lines = new BufferedReader(new InputStreamReader(table, StandardCharsets.US_ASCII))) {
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        var words = line.split(" ", -1);
        keys.commands.put(
            words[0],
            new Places(
                words[1].equals("w"),
                Integer.parseInt(words[2]),
                Integer.parseInt(words[3]),
                Integer.parseInt(words[4])));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return keys;
  }

  boolean knows(String command) {
    return commands.containsKey(command);
  }

  /** Whether all that the command can write is the key that is its first word. */
  boolean isOfOneKey(String command) {
    var places = commands.get(command);
    return places != null
        && places.first == 1
        && places.last == 1
        && !STORE_ELSEWHERE.contains(command);
  }

  /** Whether the command has keys, and only reads. */
  boolean isReading(String command) {
    var places = commands.get(command);
    return places != null && !places.write;
  }

  /** A command without keys touches nothing, as far as is known. */
  void touch(String command, Call call) {
    var places = commands.get(command);
    if (places == null) {
      return;
    }
    int last = places.last < 0 ? call.words() + places.last : places.last;
    for (var key : call.keys(places.first, last + 1, places.step)) {
      call.reads(key);
      if (places.write) {
        call.touch(Touch.changes(key).effect(Effect.UNKNOWN));
      }
    }
  }
}

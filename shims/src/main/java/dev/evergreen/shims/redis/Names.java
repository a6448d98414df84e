package dev.evergreen.shims.redis;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How commands are called where Redis has other names for some of them ({@code rename-command}). It
 * tells of a name for which command it stands, but no other names: so it is asked of each that a
 * client says and the shim does not know. What the shim itself has to say of a client is something
 * that the client has said before, and is said by the same name.
 */
final class Names {
  /** So many are remembered that are none. */
  private static final int MOST = 1_000;

  static final int LONGEST_NAME = 512;
  private static final int LONGEST_REPLY = 1 << 20;

  /** Of a command that there is, its own name comes first. */
  private static final Pattern INFO =
      Pattern.compile(
          "\\*1\r\n(?:[*$]-1\r\n|\\*[0-9]+\r\n\\$[0-9]+\r\n([^\r]+)\r\n.*)", Pattern.DOTALL);

  private final RedisShim shim;

  /** Commands by what was said, or that itself if there is none; in small letters. */
  private final Map<String, String> commands = new ConcurrentHashMap<>();

  /** What has to be said for a command that has another name. */
  private final Map<String, String> given = new ConcurrentHashMap<>();

  /** Of another process nothing is known. */
  private volatile int lives;

  Names(RedisShim shim) {
    this.shim = shim;
  }

  /**
   * The words of a request, the first of which the shim does not know, with the command's own name
   * if there is such a command. Blocks if it is to be asked for.
   *
   * @return null if Redis does not tell
   */
  @Nullable List<byte[]> own(List<byte[]> words) {
    int now = shim.watch.lives();
    if (now != lives) {
      var before = List.copyOf(given.values());
      commands.clear();
      given.clear();
      lives = now;
      // Clients that said them before may rely on them still.
      before.forEach(name -> own(List.of(Inline.ascii(name))));
    }
    var said = small(words.getFirst());
    var command = commands.get(said);
    if (command == null) {
      command = ask(said);
      if (command == null || now != shim.watch.lives()) {
        return null;
      }
      if (!command.equals(said)) {
        given.put(command, said);
        commands.put(said, command);
      } else if (commands.size() < MOST) {
        commands.put(said, command);
      }
    }
    return with(command, words);
  }

  /** The same, where it is known by now. */
  List<byte[]> ownIfKnown(List<byte[]> words) {
    var command = words.isEmpty() ? null : commands.get(small(words.getFirst()));
    return command == null ? words : with(command, words);
  }

  private static List<byte[]> with(String command, List<byte[]> words) {
    if (command.equals(small(words.getFirst()))) {
      return words;
    }
    var own = new ArrayList<>(words);
    own.set(0, Inline.ascii(command));
    return own;
  }

  /** As text, in small letters. */
  static String small(byte[] word) {
    return new String(word, StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT);
  }

  private @Nullable String ask(String said) {
    if (said.length() > LONGEST_NAME) {
      return null;
    }
    if (said.indexOf('|') >= 0) {
      // Where it is asked for, that would be a part of a command; where it is said, it is nothing.
      return said;
    }
    try (var connection = shim.connect(shim.introduction()).connection()) {
      var request = Identity.request("COMMAND", "INFO", said);
      var info = INFO.matcher(Exchange.askLong(connection, request, LONGEST_REPLY).text());
      if (!info.matches()) {
        return null;
      }
      var command = info.group(1);
      return command == null ? said : command.toLowerCase(Locale.ROOT);
    } catch (IOException e) {
      return null;
    }
  }

  /** A request of the shim's own, by the name that clients have said for it. */
  byte[] request(String... words) {
    var said = words.clone();
    said[0] = given.getOrDefault(words[0].toLowerCase(Locale.ROOT), words[0]);
    return Identity.request(said);
  }
}

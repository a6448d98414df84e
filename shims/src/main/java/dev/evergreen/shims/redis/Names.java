package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.WaitCancelledException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How commands are called where Redis has other names for some of them ({@code rename-command}). It
 * tells of a name for which command it stands, but no other names: so it is asked of each that a
 * client says and the shim does not know, by a connection that is kept for that. What the shim
 * itself has to say of a client is something that the client has said before, and is said by the
 * same name.
 */
final class Names {
  private static final System.Logger LOG = System.getLogger(Names.class.getName());

  /** So many are remembered that are none. */
  private static final int MOST = 1_000;

  static final int LONGEST_NAME = 512;
  private static final int LONGEST_REPLY = 1 << 20;

  /** Of a command that there is, its own name comes first. */
  private static final Pattern INFO =
      Pattern.compile(
          "\\*1\r\n(?:[*$]-1\r\n|\\*[0-9]+\r\n\\$[0-9]+\r\n([^\r]+)\r\n.*)", Pattern.DOTALL);

  private final RedisShim shim;

  /** Commands by what was said, in small letters. */
  private final Map<String, String> commands = new ConcurrentHashMap<>();

  /** What has to be said for a command that has another name. */
  private final Map<String, String> given = new ConcurrentHashMap<>();

  /** Names that stand for nothing; no more than some at a time. */
  private final Set<String> none = ConcurrentHashMap.newKeySet();

  /** Connections to ask by. */
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

  /** One by which nobody asks at present; null if there is none. */
  private final AtomicReference<@Nullable Connection> resting = new AtomicReference<>();

  /** How often a store was met: what one has told may not hold for the next. */
  private volatile int meetings;

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
    var said = small(words.getFirst());
    int now = meetings;
    var command = none.contains(said) ? said : commands.get(said);
    if (command == null) {
      var told = ask(said);
      if (told == null || !note(said, told, now)) {
        return null;
      }
      command = told.isEmpty() ? said : told;
    }
    return with(command, words);
  }

  /** False if it may have been told by a store that was there before. */
  private synchronized boolean note(String said, String told, int meeting) {
    if (meeting != meetings) {
      return false;
    }
    if (told.isEmpty() && none.size() >= MOST) {
      none.clear();
    }
    learn(said, told);
    return true;
  }

  private void learn(String said, String told) {
    if (told.isEmpty()) {
      none.add(said);
      return;
    }
    // There are no more than Redis has commands.
    commands.put(said, told);
    if (!told.equals(said)) {
      given.put(told, said);
    }
  }

  /**
   * Asks a store that is met for the names that clients have said so far: who said them before may
   * rely on them still, and the shim itself says them. While it does not tell, they are said as
   * before.
   *
   * @param made by which nobody else asks meanwhile
   */
  void meet(Connection made) throws IOException {
    var told = new HashMap<String, String>();
    for (var said : List.copyOf(given.values())) {
      var command = ask(made, said);
      if (command != null) {
        told.put(said, command);
      }
    }
    synchronized (this) {
      meetings++;
      commands.clear();
      none.clear();
      given.values().removeAll(told.keySet());
      told.forEach(this::learn);
    }
    // They may lead to the one that was there before.
    connections.forEach(Connection::close);
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

  /** The command for which it stands, empty if for none, or null if Redis does not tell. */
  private @Nullable String ask(String said) {
    if (said.length() > LONGEST_NAME) {
      return null;
    }
    if (said.indexOf('|') >= 0) {
      // Where it is asked for, that would be a part of a command; where it is said, it is nothing.
      return "";
    }
    var kept = resting.getAndSet(null);
    if (kept != null) {
      try {
        return askBy(kept, said);
      } catch (WaitCancelledException e) {
        return null;
      } catch (IOException | UncheckedIOException e) {
        // Redis ends what is idle for long: it is asked again.
        LOG.log(Level.DEBUG, "the connection to ask for names has ended", e);
      }
    }
    try {
      return askBy(shim.connect(shim.introduction()).connection(), said);
    } catch (IOException | UncheckedIOException e) {
      return null;
    }
  }

  /** Asks by a connection that is not used otherwise, and keeps it for the next, if need be. */
  private @Nullable String askBy(Connection connection, String said) throws IOException {
    connections.add(connection);
    boolean rests = false;
    try {
      var told = ask(connection, said);
      rests = resting.compareAndSet(null, connection);
      return told;
    } finally {
      if (!rests) {
        connections.remove(connection);
        connection.close();
      }
    }
  }

  private static @Nullable String ask(Connection connection, String said) throws IOException {
    var request = Identity.request("COMMAND", "INFO", said);
    var info = INFO.matcher(Exchange.askLong(connection, request, LONGEST_REPLY).text());
    if (!info.matches()) {
      return null;
    }
    var command = info.group(1);
    return command == null ? "" : command.toLowerCase(Locale.ROOT);
  }

  /** A request of the shim's own, by the name that clients have said for it. */
  byte[] request(String... words) {
    var said = words.clone();
    said[0] = given.getOrDefault(words[0].toLowerCase(Locale.ROOT), words[0]);
    return Identity.request(said);
  }
}

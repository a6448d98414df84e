package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Families of which it is said what they touch, but not what they do: their answers are closed
 * witnesses that may be larger than they need be.
 */
final class Sketches {
  static final String SERVER = "server";
  private static final Cell PARAMETERS = Cell.of("c");
  private static final Cell USERS = Cell.of("a");

  /** Parameters on which users, or those that are made later, depend. */
  private static final Set<String> OF_USERS = Set.of("REQUIREPASS", "ACL-PUBSUB-DEFAULT");

  private static final Cell CHANNELS = Cell.of("p", "channel");
  private static final Cell PATTERNS = Cell.of("p", "pattern");

  private Sketches() {}

  static void define(Commands commands) {
    connection(commands.family("connection"));
    values(commands.family("whole values"));
    channels(commands.family("pub/sub"));
    server(commands.family(SERVER));
  }

  private static void on(Commands commands, String names, Consumer<Call> touches) {
    commands.on(names, touches, Commands.NOT_MODELLED);
  }

  private static void connection(Commands c) {
    c.on("PING", call -> {}, Sketches::ping);
    c.on("ECHO", call -> {}, call -> call.word(1));
    // Modules bring commands, and chance a picture.
    c.on("COMMAND LOLWUT", call -> {}, Commands.NO_FUNCTION);
  }

  /** Who listens to channels hears it in the form of their messages. */
  private static Object ping(Call call) {
    if (call.elements().isEmpty()) {
      return call.words() > 1 ? call.word(1) : Bytes.of("PONG");
    }
    return List.of(Bytes.of("pong"), call.words() > 1 ? call.word(1) : Bytes.EMPTY);
  }

  private static void values(Commands c) {
    // How a value is kept depends on all that it ever was, also on what was replaced since.
    c.on("DUMP", call -> call.reads(call.key(1)), Commands.NO_FUNCTION);
    c.on("OBJECT MEMORY XINFO", Sketches::touchKept, Commands.NO_FUNCTION);
    c.on("MIGRATE", Sketches::touchMigrated, Commands.NO_FUNCTION);
    on(
        c,
        "RESTORE",
        call ->
            call.touch(
                call.has("REPLACE", 4) ? Touch.replaces(call.key(1)) : Touch.changes(call.key(1))));
  }

  /** What has gone to another server is removed here, if that was not to be a copy. */
  private static void touchMigrated(Call call) {
    int named = call.firstPlace("KEYS", 6, Map.of("AUTH", 1, "AUTH2", 2));
    var keys =
        call.word(3).length() > 0
            ? List.of(call.key(3))
            : named < 0 ? List.<Cell>of() : call.keysFrom(named + 1);
    call.reads(keys);
    keys.forEach(key -> call.touch(Touch.changes(key).effect(Touch.Effect.UNKNOWN)));
  }

  private static void touchKept(Call call) {
    if (call.words() > 2) {
      call.reads(call.key(2));
    }
  }

  /**
   * A subscription belongs to a connection, and ends with it without a word. Replies count all of a
   * connection, whatever they are called.
   */
  private static void channels(Commands c) {
    c.on(
        "PUBLISH SPUBLISH",
        call -> call.reads(List.of(CHANNELS.child(call.word(1)), PATTERNS)),
        Commands.NO_FUNCTION);
    c.on("PUBSUB", call -> call.reads(Cell.of("p")), Commands.NO_FUNCTION);
    c.on("SUBSCRIBE SSUBSCRIBE", call -> touchNamed(call, CHANNELS), Commands.NO_FUNCTION);
    c.on("PSUBSCRIBE", call -> touchNamed(call, PATTERNS), Commands.NO_FUNCTION);
    c.on("UNSUBSCRIBE SUNSUBSCRIBE", call -> unsubscribe(call, CHANNELS), Commands.NO_FUNCTION);
    c.on("PUNSUBSCRIBE", call -> unsubscribe(call, PATTERNS), Commands.NO_FUNCTION);
  }

  private static void touchNamed(Call call, Cell all) {
    call.from(1).forEach(name -> call.touch(Touch.changes(all.child(name))));
  }

  private static void unsubscribe(Call call, Cell all) {
    if (call.words() == 1) {
      call.touch(Touch.changes(all));
    }
    touchNamed(call, all);
  }

  private static void server(Commands c) {
    on(c, "CONFIG", Sketches::touchConfig);
    on(c, "ACL", Sketches::touchUsers);
    c.on("DEBUG", Sketches::touchByDebugging, Commands.NO_FUNCTION);
  }

  /** Whether there always is something. */
  static boolean isNeverEmpty(Cell cell) {
    return PARAMETERS.contains(cell) || USERS.contains(cell);
  }

  /** Users are one cell: who is told of one may be told that there is none. */
  private static void touchUsers(Call call) {
    switch (call.option(1)) {
      case "SETUSER", "DELUSER", "LOAD" -> call.touch(Touch.changes(USERS));
      case "DRYRUN", "GETUSER", "LIST", "SAVE", "USERS" -> call.reads(USERS);
      default -> {}
    }
  }

  /**
   * Whether the reply, or what is done, depends on more than recorded requests: on who the client
   * is, on chance, on a file.
   */
  static boolean isNoFunction(Call call) {
    return call.words() > 1
        && call.option(0).equals("ACL")
        && List.of("WHOAMI", "GENPASS", "LOG", "CAT", "LOAD").contains(call.option(1));
  }

  /** Some of it makes keys up, or takes them from a file. */
  private static void touchByDebugging(Call call) {
    if (List.of("POPULATE", "FLUSHALL", "RELOAD", "LOADAOF").contains(call.option(1))) {
      call.touch(Touch.changes(Call.DATABASES).effect(Touch.Effect.UNKNOWN));
    }
  }

  private static void touchConfig(Call call) {
    if (call.option(1).equals("SET")) {
      for (int i = 2; i < call.words(); i += 2) {
        call.touch(Touch.replaces(parameter(call.option(i))));
        if (OF_USERS.contains(call.option(i))) {
          call.touch(Touch.changes(USERS));
        }
      }
    } else if (call.option(1).equals("GET")) {
      for (int i = 2; i < call.words(); i++) {
        call.reads(call.option(i).matches("[A-Z0-9-]*") ? parameter(call.option(i)) : PARAMETERS);
      }
    }
  }

  /** Some parameters have an old name beside the present one. */
  private static Cell parameter(String name) {
    return PARAMETERS.child(
        name.equals("LUA-TIME-LIMIT")
            ? "BUSY-REPLY-THRESHOLD"
            : name.replace("ZIPLIST", "LISTPACK").replace("SLAVE", "REPLICA"));
  }
}

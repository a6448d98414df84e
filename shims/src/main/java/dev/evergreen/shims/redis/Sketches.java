package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;

/**
 * Families of which it is said what they touch, but not what they do: their answers are closed
 * witnesses that may be larger than they need be.
 */
final class Sketches {
  private static final Cell PARAMETERS = Cell.of("c");
  private static final Cell SCRIPTS = Cell.of("s");
  private static final Cell CHANNELS = Cell.of("p", "channel");
  private static final Cell PATTERNS = Cell.of("p", "pattern");

  private Sketches() {}

  static void define(Commands commands) {
    connection(commands.family("connection"));
    values(commands.family("whole values"));
    scripts(commands.family("scripts"));
    channels(commands.family("pub/sub"));
    server(commands.family("server"));
  }

  private static void on(Commands commands, String names, Consumer<Call> touches) {
    commands.on(names, touches, Commands.NOT_MODELLED);
  }

  private static void connection(Commands c) {
    c.on("PING", call -> {}, call -> call.words() > 1 ? call.word(1) : Bytes.of("PONG"));
    c.on("ECHO", call -> {}, call -> call.word(1));
    on(c, "COMMAND LOLWUT", call -> {});
  }

  private static void values(Commands c) {
    on(c, "DUMP", call -> call.reads(call.key(1)));
    on(
        c,
        "RESTORE",
        call ->
            call.touch(
                call.has("REPLACE", 4) ? Touch.replaces(call.key(1)) : Touch.changes(call.key(1))));
  }

  /** What a script does is hidden in it; it may do it to the keys that it declares. */
  private static void scripts(Commands c) {
    on(c, "EVAL EVALSHA FCALL", call -> touchScript(call, true));
    on(c, "EVAL_RO EVALSHA_RO FCALL_RO", call -> touchScript(call, false));
    on(c, "SCRIPT", Sketches::touchScripts);
    on(c, "FUNCTION", call -> touchLibrary(call, SCRIPTS.child("function")));
  }

  private static void touchScript(Call call, boolean writes) {
    var keys = call.keys(3, 3 + call.index(2), 1);
    var script =
        call.option(0).startsWith("FCALL")
            ? SCRIPTS.child("function")
            : SCRIPTS.child(digest(call));
    if (call.option(0).equals("EVAL")) {
      call.touch(Touch.replaces(script));
    } else {
      call.reads(script);
    }
    for (var key : keys) {
      call.reads(key);
      if (writes) {
        call.touch(Touch.changes(key).from(keys).effect(Touch.Effect.UNKNOWN));
      }
    }
  }

  private static Bytes digest(Call call) {
    return call.option(0).startsWith("EVALSHA")
        ? Bytes.of(call.word(1).text().toLowerCase(java.util.Locale.ROOT))
        : digest(call.word(1));
  }

  private static Bytes digest(Bytes script) {
    try {
      return Bytes.of(
          HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(script.toArray())));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-1", e);
    }
  }

  private static void touchScripts(Call call) {
    switch (call.option(1)) {
      case "LOAD" -> call.touch(Touch.replaces(SCRIPTS.child(digest(call.word(2)))));
      case "EXISTS" -> call.from(2).forEach(sha -> call.reads(SCRIPTS.child(sha)));
      case "FLUSH" -> call.touch(Touch.replaces(SCRIPTS));
      default -> {}
    }
  }

  private static void touchLibrary(Call call, Cell libraries) {
    if (List.of("LOAD", "DELETE", "FLUSH", "RESTORE").contains(call.option(1))) {
      call.touch(Touch.changes(libraries));
    } else {
      call.reads(libraries);
    }
  }

  /** A subscription belongs to a connection, and ends with it without a word. */
  private static void channels(Commands c) {
    on(c, "PUBLISH SPUBLISH", call -> call.reads(List.of(CHANNELS.child(call.word(1)), PATTERNS)));
    on(c, "PUBSUB", call -> call.reads(Cell.of("p")));
    on(
        c,
        "SUBSCRIBE SSUBSCRIBE",
        call -> call.from(1).forEach(name -> call.touch(Touch.changes(CHANNELS.child(name)))));
    on(
        c,
        "PSUBSCRIBE",
        call -> call.from(1).forEach(name -> call.touch(Touch.changes(PATTERNS.child(name)))));
    on(c, "UNSUBSCRIBE SUNSUBSCRIBE", call -> unsubscribe(call, CHANNELS));
    on(c, "PUNSUBSCRIBE", call -> unsubscribe(call, PATTERNS));
  }

  private static void unsubscribe(Call call, Cell all) {
    if (call.words() == 1) {
      call.touch(Touch.changes(all));
    }
    call.from(1).forEach(name -> call.touch(Touch.changes(all.child(name))));
  }

  private static void server(Commands c) {
    on(c, "CONFIG", Sketches::touchConfig);
    on(c, "ACL", call -> touchLibrary(call, Cell.of("a")));
  }

  private static void touchConfig(Call call) {
    if (call.option(1).equals("SET")) {
      for (int i = 2; i < call.words(); i += 2) {
        call.touch(Touch.replaces(PARAMETERS.child(call.option(i))));
      }
    } else if (call.option(1).equals("GET")) {
      for (int i = 2; i < call.words(); i++) {
        call.reads(
            call.option(i).matches("[A-Z0-9-]*") ? PARAMETERS.child(call.option(i)) : PARAMETERS);
      }
    }
  }
}

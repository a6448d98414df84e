package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Touch;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Scripts and functions. What one does is hidden in it, unless its {@link Effects} are on record:
 * then it depends on what its commands have looked at, and on nothing else.
 */
final class Scripts {
  static final String FAMILY = "scripts";
  static final Cell SCRIPTS = Cell.of("s");

  /** Beside the scripts: SCRIPT FLUSH leaves functions as they are. */
  static final Cell FUNCTIONS = Cell.of("f");

  private static final Set<String> CALLS =
      Set.of("EVAL", "EVALSHA", "FCALL", "EVAL_RO", "EVALSHA_RO", "FCALL_RO");

  private static final Set<String> TELL_NOTHING = Set.of("PUBLISH", "SPUBLISH", "SELECT");

  /** Of so many cells each is named on which a write depends; of more, only what holds them. */
  private static final int MOST_NAMED = 64;

  private static final int MOST_LOOKED = 1_000;

  private static final int KEY = 3;

  /**
   * How Redis says that nothing was run. The first word does not tell: a script may say the same
   * after a write.
   */
  private static final List<Bytes> REFUSALS =
      Stream.of(
              "-NOSCRIPT No matching script. Please use EVAL.",
              "-NOAUTH Authentication required.",
              "-BUSY Redis is busy running a script.",
              "-LOADING Redis is loading the dataset in memory",
              "-ERR Error compiling script (new function): ",
              "-ERR Function not found",
              "-ERR Number of keys can't be ",
              "-ERR wrong number of arguments for 'eval",
              "-ERR wrong number of arguments for 'fcall")
          .map(Bytes::of)
          .toList();

  private Scripts() {}

  static void define(Commands commands) {
    var c = commands.family(FAMILY);
    c.on("EVAL EVALSHA FCALL", call -> touchHidden(call, true), Commands.NOT_MODELLED);
    c.on("EVAL_RO EVALSHA_RO FCALL_RO", call -> touchHidden(call, false), Commands.NOT_MODELLED);
    c.on("SCRIPT", Scripts::touchScripts, Commands.NOT_MODELLED);
    c.on("FUNCTION", Scripts::touchFunctions, Commands.NOT_MODELLED);
  }

  /** Whether it runs a script. */
  static boolean isCall(List<Bytes> request) {
    return !request.isEmpty() && CALLS.contains(request.getFirst().text().toUpperCase(Locale.ROOT));
  }

  /** Whether the operation is a call that may have written though its reply is an error. */
  static boolean mayHaveRun(Operation operation) {
    var reply = operation.reply();
    return isCall(operation.request())
        && (reply == null || REFUSALS.stream().noneMatch(Effects.reply(reply)::startsWith));
  }

  /** Whether the reply tells what runs at present, which cells do not. */
  static boolean isNoFunction(Call call) {
    return call.words() > 1
        && switch (call.option(0)) {
          case "SCRIPT" -> call.option(1).equals("KILL");
          case "FUNCTION" -> call.option(1).equals("KILL") || call.option(1).equals("STATS");
          default -> false;
        };
  }

  /** It may do anything to the keys that it declares. */
  private static void touchHidden(Call call, boolean writes) {
    touchScript(call);
    var keys = keys(call);
    var all = call.together(keys);
    for (var key : keys) {
      call.reads(key);
      if (writes) {
        call.touch(Touch.changes(key).from(all).effect(Touch.Effect.UNKNOWN));
      }
    }
  }

  private static List<Cell> keys(Call call) {
    return call.keys(3, 3 + call.index(2), 1);
  }

  private static void touchScript(Call call) {
    if (call.option(0).startsWith("FCALL")) {
      call.reads(FUNCTIONS);
    } else if (call.option(0).startsWith("EVALSHA")) {
      call.reads(named(call.word(1)));
    } else {
      touchLoaded(call, call.word(1));
    }
  }

  /**
   * The commands that a call has carried out, none of which has a reply; empty if they are not
   * known, or it is no call.
   */
  static Optional<List<Operation>> done(Operation operation) {
    return Effects.calls(operation.reply())
        .filter(calls -> calls.size() == 1 && isCall(operation.request()))
        .map(
            calls ->
                Effects.commands(calls.getFirst()).stream()
                    .map(words -> command(operation, words))
                    .toList());
  }

  /** Whether a command tells a script nothing of what is stored, nor anything that it goes by. */
  static boolean tellsNothing(Operation command) {
    return TELL_NOTHING.contains(command.request().getFirst().text().toUpperCase(Locale.ROOT));
  }

  private static Operation command(Operation script, List<Bytes> words) {
    return new Operation(
        script.row(),
        script.epoch(),
        script.lane(),
        script.connection(),
        words.getFirst().text(),
        script.sent(),
        script.replied(),
        words.subList(1, words.size()),
        null,
        List.of(),
        false,
        script.within(),
        script.skew());
  }

  /**
   * What a call touches of which it is known what it has carried out. What it read has told it what
   * to write. So each write depends on all that was read before; and if anything was read, it could
   * have written whatever it declares.
   */
  static List<Touch> touches(
      Call call, List<Operation> done, Function<Operation, List<Touch>> touching) {
    touchScript(call);
    var looked = new LinkedHashSet<Cell>();
    call.touches().stream()
        .filter(touch -> !touch.writes())
        .forEach(touch -> looked.add(touch.cell()));
    int script = looked.size();
    for (var command : done) {
      boolean sure = cannotFail(command.request());
      for (var touch : touching.apply(command)) {
        if (touch.writes()) {
          var from = new LinkedHashSet<>(looked);
          from.addAll(touch.from());
          boolean replaced = sure && touch.kind() == Touch.Kind.REPLACES;
          var told = replaced ? touch.effect(Touch.Effect.YES) : touch;
          call.touch(told.from(named(from)));
        } else {
          call.touch(touch);
        }
        if (touch.kind() != Touch.Kind.REPLACES) {
          looked.add(touch.cell());
        }
        looked.addAll(touch.from());
      }
      shorten(looked);
    }
    if (looked.size() > script && !call.option(0).endsWith("_RO")) {
      var from = named(looked);
      keys(call).forEach(key -> call.touch(Touch.changes(key).from(from).effect(false)));
    }
    return List.copyOf(call.touches());
  }

  /**
   * Whether it has done what it says, if Redis has run it: whether another one has failed, the
   * script's own reply need not tell.
   */
  private static boolean cannotFail(List<Bytes> request) {
    return switch (request.getFirst().text().toUpperCase(Locale.ROOT)) {
      case "SET" -> request.size() == 3;
      case "DEL", "UNLINK" -> true;
      case "FLUSHDB", "FLUSHALL" -> request.size() == 1;
      default -> false;
    };
  }

  /** Each of its writes goes through what a script has looked at: that must not grow with it. */
  private static void shorten(Set<Cell> looked) {
    if (looked.size() > MOST_LOOKED) {
      var shorter = named(looked);
      looked.clear();
      looked.addAll(shorter);
    }
  }

  private static List<Cell> named(Collection<Cell> cells) {
    if (cells.size() <= MOST_NAMED) {
      return List.copyOf(cells);
    }
    var keys = new LinkedHashSet<Cell>();
    cells.forEach(cell -> keys.add(cell.depth() > KEY ? cell.ancestor(KEY) : cell));
    return keys.size() <= MOST_NAMED
        ? List.copyOf(keys)
        : List.of(Call.DATABASES, SCRIPTS, FUNCTIONS);
  }

  private static Cell named(Bytes digest) {
    return Redactor.isMarked(digest)
        ? SCRIPTS
        : SCRIPTS.child(Bytes.of(digest.text().toLowerCase(Locale.ROOT)));
  }

  /** Of a script of which something is hidden the name is not known. */
  private static void touchLoaded(Call call, Bytes script) {
    call.touch(
        Redactor.isMarked(script)
            ? Touch.changes(SCRIPTS).effect(Touch.Effect.UNKNOWN)
            : Touch.replaces(SCRIPTS.child(digest(script))));
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
      case "LOAD" -> touchLoaded(call, call.word(2));
      case "EXISTS" -> call.from(2).stream().map(Scripts::named).forEach(call::reads);
      case "FLUSH" -> call.touch(Touch.replaces(SCRIPTS));
      default -> {}
    }
  }

  private static void touchFunctions(Call call) {
    if (List.of("LOAD", "DELETE", "FLUSH", "RESTORE").contains(call.option(1))) {
      call.touch(Touch.changes(FUNCTIONS));
    } else {
      call.reads(FUNCTIONS);
    }
  }
}

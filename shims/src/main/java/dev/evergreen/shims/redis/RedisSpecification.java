package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.HiddenException;
import dev.evergreen.provenance.Model;
import dev.evergreen.provenance.Moment;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Specification;
import dev.evergreen.provenance.State;
import dev.evergreen.provenance.Touch;
import dev.evergreen.provenance.Touch.Effect;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What answers of Redis depend on. An operation's request is the words of a command, its reply the
 * bytes of one reply of either version of the protocol, its space the number of the database. A
 * transaction is its EXEC, with the queued commands as parts.
 */
public final class RedisSpecification implements Specification, Model {
  /** Of a command that names more than so many words, these are not keys each. */
  private static final int MOST_NAMED = 64;

  /** A longer word of such a command is taken for a value. */
  private static final int LONGEST_NAME = 512;

  private final Map<String, Commands.Command> commands;
  private final DefaultKeys defaults = DefaultKeys.load();

  /** The specification, of which one is enough. */
  public RedisSpecification() {
    var all = new Commands();
    Strings.define(all);
    Keys.define(all);
    Hashes.define(all);
    Lists.define(all);
    Sets.define(all);
    Expiry.define(all);
    SortedSets.define(all);
    Bitmaps.define(all);
    BitFields.define(all);
    Streams.define(all);
    StreamGroups.define(all);
    Geo.define(all);
    Sorting.define(all);
    Scans.define(all);
    HyperLogLogs.define(all);
    Scripts.define(all);
    Transactions.define(all);
    Sketches.define(all);
    commands = all.all();
  }

  @Override
  public String store() {
    return "redis";
  }

  /** The names of the commands that are specified, in capitals, each with its family's name. */
  public Map<String, String> families() {
    var families = new java.util.TreeMap<String, String>();
    commands.forEach((name, command) -> families.put(name, command.family()));
    return families;
  }

  @Override
  public Optional<Model> model() {
    return Optional.of(this);
  }

  @Override
  public Knowledge knowledge(Operation operation) {
    if (!operation.parts().isEmpty()) {
      return Knowledge.SPECIFIED;
    }
    if (Refusals.isOfTheServer(operation)
        || RedisKind.isQueued(operation)
        || Transactions.isUntold(operation)) {
      return Knowledge.NONE;
    }
    if (operation.cut() || isInSomeDatabase(operation)) {
      return Knowledge.OPAQUE;
    }
    var done = Scripts.done(operation);
    if (done.isPresent()) {
      return done.get().stream().allMatch(this::isUnderstood)
          ? Knowledge.SPECIFIED
          : Knowledge.OPAQUE;
    }
    var command = commands.get(name(operation));
    if (command != null) {
      return isHidden(command, operation) || isMarked(command, operation)
          ? Knowledge.OPAQUE
          : isNoFunction(command, operation) ? Knowledge.DEFAULT : Knowledge.SPECIFIED;
    }
    return defaults.knows(name(operation)) ? Knowledge.DEFAULT : Knowledge.NONE;
  }

  /**
   * Whether some of its words are hidden that tell what it does, as options and numbers do: others
   * need only be equal where they were. Longer words are none of these.
   */
  private static boolean isMarked(Commands.Command command, Operation operation) {
    if (operation.request().stream().noneMatch(RedisSpecification::isShortMark)) {
      return false;
    }
    try {
      var call = new Call(operation, null);
      command.touches().accept(call);
      var _ = Expiry.deadline(call);
      return false;
    } catch (HiddenException hidden) {
      return true;
    } catch (Refusal | ArithmeticException malformed) {
      return false;
    }
  }

  private static boolean isShortMark(Bytes word) {
    return word.length() <= LONGEST_NAME && Redactor.isMarked(word);
  }

  /** Whether a script may have gone by nothing that the command has told it but cells. */
  private boolean isUnderstood(Operation command) {
    return Scripts.tellsNothing(command) || knowledge(command) == Knowledge.SPECIFIED;
  }

  private static boolean isNoFunction(Commands.Command command, Operation operation) {
    return command.runs() == Commands.NO_FUNCTION
        || switch (command.family()) {
          case Scans.FAMILY -> Scans.isStep(new Call(operation, null));
          case Sorting.FAMILY -> Sorting.mayLeaveOrder(new Call(operation, null));
          case Scripts.FAMILY -> Scripts.isNoFunction(new Call(operation, null));
          case Sketches.SERVER -> Sketches.isNoFunction(new Call(operation, null));
          default -> false;
        };
  }

  @Override
  public boolean mayBeNoFunction(Operation operation) {
    var command = commands.get(name(operation));
    return command != null
        && !isMarked(command, operation)
        && switch (command.family()) {
          case Sorting.FAMILY -> Sorting.mayBeAsKept(new Call(operation, null));
          case Sets.FAMILY -> Sets.isDraw(new Call(operation, null));
          case Transactions.FAMILY -> Transactions.isLook(operation);
          default -> false;
        };
  }

  private static boolean isHidden(Commands.Command command, Operation operation) {
    return switch (command.family()) {
      case Scripts.FAMILY -> Scripts.isCall(operation.request());
      case Transactions.FAMILY -> Transactions.isUnknown(operation);
      default -> false;
    };
  }

  /** Whether it was sent when nobody knew in which database that was. */
  private static boolean isInSomeDatabase(Operation operation) {
    return operation.lane() != 0 && operation.space().isEmpty();
  }

  @Override
  public List<Touch> touches(Operation operation) {
    var touches = touchesOfOne(operation);
    return isInSomeDatabase(operation)
        ? touches.stream().map(RedisSpecification::anywhere).distinct().toList()
        : touches;
  }

  /** What is in one database may be in any. */
  private static Touch anywhere(Touch touch) {
    if (touch.cell().equals(Call.DATABASES) || !touch.cell().overlaps(Call.DATABASES)) {
      return touch;
    }
    return touch.writes()
        ? Touch.changes(Call.DATABASES).effect(Effect.UNKNOWN)
        : Touch.reads(Call.DATABASES);
  }

  private List<Touch> touchesOfOne(Operation operation) {
    if (Refusals.isOfTheServer(operation) || Refusals.isOfTheWords(operation)) {
      return List.of();
    }
    var name = name(operation);
    var command = commands.get(name);
    var call = new Call(operation, null);
    try {
      var done = Scripts.done(operation);
      if (done.isPresent()) {
        return Scripts.touches(call, done.get(), this::touches);
      }
      if (operation.cut()) {
        touchCut(name, call);
      } else if (command != null) {
        command.touches().accept(call);
      } else if (defaults.knows(name)) {
        defaults.touch(name, call);
      } else if (!Verb.isKnown(name.toLowerCase(Locale.ROOT))) {
        touchAnything(name, call);
      }
    } catch (HiddenException hidden) {
      // Its words tell no more than if they were not on record.
      call = new Call(operation, null);
      touchCut(name, call);
    } catch (Refusal | ArithmeticException malformed) {
      // No state lets such a command do anything.
      return List.of();
    }
    // Of several keys, some may have gone to another server before that has failed.
    boolean mayHaveRun =
        Scripts.mayHaveRun(operation) || name.equals("MIGRATE") || mayHaveFailedAmid(operation);
    var touches = asReplied(call.touches(), call.reply(), mayHaveRun);
    // Whatever it would have looked at first, it would have been refused.
    return isRefusedAtLast(command, operation)
        ? touches.stream().filter(touch -> !touch.writes()).toList()
        : touches;
  }

  /**
   * Whether it was refused for its words when it may have looked at keys. Of a command without a
   * model errors that speak of the state are not told from others.
   */
  private static boolean isRefusedAtLast(Commands.@Nullable Command command, Operation operation) {
    return command != null
        && command.runs() != Commands.NOT_MODELLED
        && command.runs() != Commands.NO_FUNCTION
        && Refusals.isOfTheWordsAtLast(operation);
  }

  /**
   * What nobody knows, such as a command of a module or of a newer Redis, may have written whatever
   * it names, unless it was refused. If its name is not of their kind, it may be another name of
   * any command: of FLUSHALL, say, or of EVAL.
   */
  private static void touchAnything(String name, Call call) {
    if (call.reply() instanceof Resp.Failure && !mayHaveFailedAmid(call.operation())) {
      return;
    }
    if (!Verb.isOfData(name.toLowerCase(Locale.ROOT))) {
      call.touch(Touch.changes(Call.DATABASES).effect(Effect.UNKNOWN));
      return;
    }
    if (call.words() > MOST_NAMED
        || namesNoKey(call)
        || Redactor.isMarked(call.word(0))
        || RedisKind.isHidden(call.operation())) {
      call.touch(Touch.changes(call.database()).effect(Effect.UNKNOWN));
      return;
    }
    for (int i = 1; i < call.words(); i++) {
      call.touch(Touch.changes(call.key(i)).effect(Effect.UNKNOWN));
    }
  }

  /** Of a request that is hidden whole, its refusal is hidden, too: it may be a MIGRATE. */
  private static boolean mayHaveFailedAmid(Operation operation) {
    return RedisKind.isHidden(operation) && operation.replied("-<hidden>\r\n");
  }

  /** What is not on record of a command may name more keys, and say what is done to them. */
  private void touchCut(String name, Call call) {
    // The last word that there is may be cut off, too.
    var place = call.words() > 2 && defaults.isOfOneKey(name) ? call.key(1) : Call.DATABASES;
    call.reads(place);
    if (!defaults.isReading(name)) {
      call.touch(Touch.changes(place).effect(Effect.UNKNOWN));
    }
  }

  /** Whether a word is longer than names of keys are: then the words do not tell what it wrote. */
  private static boolean namesNoKey(Call call) {
    for (int i = 1; i < call.words(); i++) {
      if (call.word(i).length() > LONGEST_NAME) {
        return true;
      }
    }
    return false;
  }

  /**
   * A command that was refused has changed nothing, unless it may have been refused in its middle;
   * of one without a reply nobody knows.
   */
  private static List<Touch> asReplied(
      List<Touch> touches, @Nullable Object reply, boolean mayHaveRun) {
    if (reply != null && !(reply instanceof Resp.Failure)) {
      return List.copyOf(touches);
    }
    boolean known = reply instanceof Resp.Failure && !mayHaveRun;
    var changed = new ArrayList<Touch>();
    for (var touch : touches) {
      if (!touch.writes()) {
        changed.add(touch);
      } else if (!known) {
        changed.add(touch.effect(Effect.UNKNOWN));
      } else {
        changed.add(
            new Touch(touch.cell(), Touch.Kind.CHANGES, Effect.NO, touch.from(), touch.unless()));
      }
    }
    return changed;
  }

  @Override
  public List<Moment> deadlines(Operation operation) {
    if (operation.cut()) {
      return List.of();
    }
    var done = Scripts.done(operation);
    if (done.isPresent()) {
      return done.get().stream().flatMap(command -> deadlines(command).stream()).toList();
    }
    try {
      var deadline = Expiry.deadline(new Call(operation, null));
      return deadline == null ? List.of() : deadline.moments(operation);
    } catch (Refusal | ArithmeticException | HiddenException unknown) {
      return List.of();
    }
  }

  @Override
  public Object run(Operation operation, State state) {
    var command = commands.get(name(operation));
    if (command == null) {
      throw new IllegalArgumentException("no specification speaks of " + operation.text());
    }
    if (Refusals.isOfTheWords(operation)) {
      return new Refusal("ERR").failure();
    }
    if (isRefusedAtLast(command, operation)) {
      throw new UnsupportedOperationException("what is refused first is the store's business");
    }
    try {
      return Transactions.noting(
          state, () -> command.runs().apply(new Call(operation, state)), () -> touches(operation));
    } catch (Refusal refusal) {
      return refusal.failure();
    }
  }

  @Override
  public Object reply(Operation operation) {
    if (operation.reply() == null) {
      throw new IllegalArgumentException("no reply is known of " + operation.text());
    }
    var reply = Resp.read(operation.reply());
    var command = commands.get(name(operation));
    return command == null ? reply : command.shape().apply(reply);
  }

  private static String name(Operation operation) {
    // Of one that is cut off there may be none.
    return operation.request().isEmpty()
        ? ""
        : operation.request().getFirst().text().toUpperCase(Locale.ROOT);
  }
}

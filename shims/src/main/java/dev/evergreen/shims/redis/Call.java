package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.HiddenException;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.State;
import dev.evergreen.provenance.Touch;
import dev.evergreen.provenance.Touches;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A command with its words, while its family looks at it: either to tell which cells it touches, or
 * to run it on a state.
 *
 * <p>A command on one kind of value also depends on what a key must not hold for it to succeed:
 * values of other kinds, and a deadline that may have passed. These cells are the key's
 * <em>guards</em>.
 */
final class Call {
  static final Cell DATABASES = Cell.of("d");
  private static final Bytes DEADLINE = Bytes.of("t");
  private static final List<Kind> KINDS = List.of(Kind.values());

  /** So many keys are named to each of them. */
  private static final int MOST_TOGETHER = 256;

  private final Operation operation;
  private final @Nullable State state;

  /** The reply, once somebody has asked for it. */
  private @Nullable Object reply;

  private boolean replyRead;

  private final Touches touches = new Touches();

  /** That was looked for last: a command with many members looks for the same one at each. */
  private @Nullable Place lastPlace;

  Call(Operation operation, @Nullable State state) {
    this.operation = operation;
    this.state = state;
  }

  Operation operation() {
    return operation;
  }

  // Words.

  int words() {
    return operation.request().size();
  }

  Bytes word(int index) {
    if (index >= words()) {
      throw new Refusal("ERR");
    }
    return operation.request().get(index);
  }

  List<Bytes> from(int index) {
    return operation.request().subList(Math.min(index, words()), words());
  }

  /** A word of which more is asked than whether another one is equal. */
  Bytes plain(int index) {
    return plain(word(index));
  }

  /**
   * What is not hidden.
   *
   * @throws HiddenException if it is
   */
  static Bytes plain(Bytes text) {
    return HiddenException.refuseMarks(text);
  }

  String option(int index) {
    return plain(index).text().toUpperCase(Locale.ROOT);
  }

  /** Whether one of the words from here on is this one. */
  boolean has(String option, int from) {
    return place(option, from) > 0;
  }

  /** Where the option is among the words from here on, or -1. The last one counts. */
  int place(String option, int from) {
    return place(option, from, words(), Map.of());
  }

  /**
   * Where the option is among the words from here on, or -1. The last one counts. What belongs to
   * an option is none itself, whatever it is called.
   *
   * @param arguments how many words belong to an option, where any do
   */
  int place(String option, int from, Map<String, Integer> arguments) {
    return place(option, from, words(), arguments);
  }

  /** The same among the words before an end. */
  int place(String option, int from, int to, Map<String, Integer> arguments) {
    int last = -1;
    for (int i = from; i < to; i += 1 + arguments.getOrDefault(option(i), 0)) {
      last = option(i).equals(option) ? i : last;
    }
    return last;
  }

  /** Where the option is first, behind which there are no others, or -1. */
  int firstPlace(String option, int from, Map<String, Integer> arguments) {
    for (int i = from; i < words(); i += 1 + arguments.getOrDefault(option(i), 0)) {
      if (option(i).equals(option)) {
        return i;
      }
    }
    return -1;
  }

  long number(int index) {
    return number(word(index));
  }

  /** A number that must not be negative. */
  long count(int index) {
    long count = number(index);
    if (count < 0) {
      throw new Refusal("ERR");
    }
    return count;
  }

  int index(int index) {
    return Math.toIntExact(number(index));
  }

  /**
   * The number that the text is, written as Redis itself would: without a plus, without zeros in
   * front.
   */
  static long number(Bytes text) {
    try {
      long number = Long.parseLong(plain(text).text());
      if (Long.toString(number).equals(text.text())) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Refused below.
    }
    throw new Refusal("ERR");
  }

  /** When this was sent. */
  Instant sent() {
    return operation.sent();
  }

  /** The client's connection. */
  String connection() {
    return Long.toString(operation.connection());
  }

  // Cells.

  Cell database() {
    return database(operation.space());
  }

  static Cell database(String number) {
    return DATABASES.child(number.isEmpty() ? "0" : number);
  }

  Cell key(int index) {
    return database().child(word(index));
  }

  /** The keys that these words are, every so many words. */
  List<Cell> keys(int from, int to, int step) {
    var keys = new ArrayList<Cell>();
    for (int i = from; i < to; i += step) {
      keys.add(key(i));
    }
    return keys;
  }

  List<Cell> keysFrom(int from) {
    return keys(from, words(), 1);
  }

  /**
   * On what each of these keys depends if it depends on all of them. Of many that is the database
   * that they are in: who looks at all of them for each of them takes the square of the time.
   */
  List<Cell> together(List<Cell> keys) {
    return keys.size() > MOST_TOGETHER ? List.of(database()) : List.copyOf(keys);
  }

  static Cell deadline(Cell key) {
    return key.child(DEADLINE);
  }

  /** Written by what may have left nothing under a key, so that its deadline went too. */
  static Cell emptied(Cell key) {
    return key.child("e");
  }

  static List<Cell> guards(Kind kind, Cell key) {
    var guards = new ArrayList<Cell>(KINDS.size());
    guards.add(deadline(key));
    for (var other : KINDS) {
      if (other != kind) {
        guards.add(other.of(key));
      }
    }
    return guards;
  }

  /** Where values of a kind are under a key, and what guards them. */
  private record Place(Kind kind, Cell key, Cell cell, List<Cell> guards) {}

  private Place place(Kind kind, Cell key) {
    var known = lastPlace;
    if (known == null || known.kind != kind || !known.key.equals(key)) {
      known = new Place(kind, key, kind.of(key), List.copyOf(guards(kind, key)));
      lastPlace = known;
    }
    return known;
  }

  // What the reply tells.

  /** The reply, or null if there is none, or only the beginning of a long one. */
  @Nullable Object reply() {
    var recorded = operation.reply();
    if (!replyRead && recorded != null) {
      try {
        reply = Resp.read(recorded);
      } catch (IllegalArgumentException cut) {
        reply = null;
      }
    }
    replyRead = true;
    return reply;
  }

  boolean replied(Object value) {
    return value.equals(reply());
  }

  boolean replied(String text) {
    return replied(Bytes.of(text));
  }

  boolean replied(long number) {
    return replied((Object) number);
  }

  boolean repliedNil() {
    return reply() == Resp.NIL;
  }

  /** The elements of the reply; none if it is not a list. */
  List<?> elements() {
    return reply() instanceof List<?> list ? list : List.of();
  }

  // Touches.

  List<Touch> touches() {
    return touches.all();
  }

  void touch(Touch touch) {
    touches.add(touch);
  }

  void reads(Cell cell) {
    touch(Touch.reads(cell));
  }

  void reads(List<Cell> cells) {
    cells.forEach(this::reads);
  }

  void reads(Kind kind, Cell key) {
    var place = place(kind, key);
    touch(Touch.reads(place.cell).from(place.guards));
  }

  void reads(Kind kind, Cell key, Bytes member) {
    var place = place(kind, key);
    touch(Touch.reads(place.cell.child(member)).from(place.guards));
  }

  void changes(Kind kind, Cell key, boolean effect) {
    var place = place(kind, key);
    touch(Touch.changes(place.cell).from(place.guards).effect(effect));
  }

  void changes(Kind kind, Cell key, Bytes member, boolean effect) {
    var place = place(kind, key);
    touch(Touch.changes(place.cell.child(member)).from(place.guards).effect(effect));
  }

  /**
   * The member is afterwards as the command says, if the key does not hold another kind; and the
   * reply tells something of what was.
   */
  void replaces(Kind kind, Cell key, Bytes member, boolean effect) {
    reads(kind, key, member);
    var place = place(kind, key);
    touch(Touch.replaces(place.cell.child(member)).from(place.guards).effect(effect));
  }

  /** The command may have taken the last of what was there. */
  void empties(Kind kind, Cell key, boolean effect) {
    touch(
        Touch.changes(emptied(key))
            .from(kind.of(key))
            .effect(effect ? Touch.Effect.UNKNOWN : Touch.Effect.NO));
  }

  /**
   * The first of the keys that holds something gives of it, and the reply begins with its name;
   * those before it held nothing.
   */
  void takesFromFirst(Kind kind, List<Cell> keys) {
    keys.forEach(key -> reads(kind, key));
    changesFirst(kind, keys);
  }

  /** The first of the keys that holds something gives of it, and the reply begins with its name. */
  void changesFirst(Kind kind, List<Cell> keys) {
    var all = together(keys);
    for (var key : keys) {
      boolean taken = beginsWith(key.name());
      touch(Touch.changes(kind.of(key)).from(all).effect(taken));
      empties(kind, key, taken);
    }
  }

  /** The keys whose number stands at this place. */
  List<Cell> counted(int at) {
    return keys(at + 1, at + 1 + index(at), 1);
  }

  /** The command sets or removes the deadline of a key that is there. */
  void deadlines(Cell key, boolean effect) {
    touch(Touch.changes(deadline(key)).from(key).unless(emptied(key)).effect(effect));
  }

  // The state.

  State state() {
    return Objects.requireNonNull(state, "there is a state while a command is run");
  }

  @Nullable Entry entry(Cell key) {
    var entry = (Entry) state().get(key);
    if (entry != null && expired(entry)) {
      state().clear(key);
      return null;
    }
    return entry;
  }

  /** Whether the key is gone. */
  boolean expired(Entry entry) {
    return expired(entry, state());
  }

  static boolean expired(Entry entry, State state) {
    var deadline = entry.deadline();
    return deadline != null
        && (deadline.equals(Deadline.OVER) || state.hasPassed(deadline.moment()));
  }

  boolean exists(Cell key) {
    return entry(key) != null;
  }

  /** Puts a value in place of whatever is there, with no deadline. */
  void set(Cell key, Kind kind, Object content) {
    put(key, new Entry(kind, content, null));
  }

  /** Puts a changed value, which keeps the deadline; takes the key away if nothing is left. */
  void change(Cell key, Kind kind, Object content) {
    var old = entry(key);
    put(key, new Entry(kind, content, old == null ? null : old.deadline()));
  }

  void put(Cell key, Entry entry) {
    if (entry.empty()) {
      remove(key);
      return;
    }
    var before = Transactions.known(state(), key);
    state().put(key, entry);
    Filled.note(this, key, before, entry);
  }

  void remove(Cell key) {
    var before = Transactions.known(state(), key);
    state().clear(key);
    Filled.note(this, key, before, null);
  }

  /**
   * The first of the keys that holds something of a kind, or null; of a command that has waited the
   * one from which it was served.
   */
  @Nullable Cell serving(Kind kind, List<Cell> keys) {
    var first = keys.stream().filter(key -> content(key, kind) != null).findFirst().orElse(null);
    if (first == null || !mayHaveWaited()) {
      return first;
    }
    var holding = keys.stream().filter(key -> holds(key, kind)).toList();
    return holding.stream()
        .filter(key -> !key.equals(first) && beginsWith(key.name()))
        .findFirst()
        .flatMap(told -> Filled.served(this, holding, told))
        .orElse(first);
  }

  private boolean holds(Cell key, Kind kind) {
    var entry = entry(key);
    return entry != null && entry.kind() == kind;
  }

  /** Whether the reply is a list that begins so. */
  private boolean beginsWith(Bytes name) {
    return !elements().isEmpty() && name.equals(elements().getFirst());
  }

  /** Whether it is one that waits if it has to. None does amid a transaction. */
  private boolean mayHaveWaited() {
    return option(0).startsWith("B") && !isPart();
  }

  /** Whether it was carried out amid a transaction. */
  boolean isPart() {
    return operation.within() != operation.row();
  }

  @Nullable Object content(Cell key, Kind kind) {
    var entry = entry(key);
    if (entry != null && entry.kind() != kind) {
      throw new Refusal("WRONGTYPE");
    }
    return entry == null ? null : entry.content();
  }

  /** The string, or null if there is none. */
  @Nullable Bytes string(Cell key) {
    return (Bytes) content(key, Kind.STRING);
  }

  /** A copy of the hash; empty if there is none. */
  Map<Bytes, Bytes> hash(Cell key) {
    return copy(key, Kind.HASH, TreeMap::new, content -> new TreeMap<>((Map<?, ?>) content));
  }

  /** A copy of the list; empty if there is none. */
  List<Bytes> list(Cell key) {
    return copy(key, Kind.LIST, ArrayList::new, content -> new ArrayList<>((List<?>) content));
  }

  /** A copy of the set; empty if there is none. */
  Set<Bytes> set(Cell key) {
    return copy(key, Kind.SET, TreeSet::new, content -> new TreeSet<>((Set<?>) content));
  }

  /** A copy of the sorted set's scores; empty if there is none. */
  Map<Bytes, Double> scores(Cell key) {
    return copy(key, Kind.SORTED, TreeMap::new, content -> new TreeMap<>((Map<?, ?>) content));
  }

  @SuppressWarnings("unchecked") // a kind has one type of content
  private <T> T copy(
      Cell key, Kind kind, java.util.function.Supplier<T> none, Function<Object, Object> copy) {
    var content = content(key, kind);
    return content == null ? none.get() : (T) copy.apply(content);
  }

  // Replies.

  static final Bytes OK = Bytes.of("OK");

  static Object orNil(@Nullable Object value) {
    return value == null ? Resp.NIL : value;
  }

  static long flag(boolean value) {
    return value ? 1 : 0;
  }
}

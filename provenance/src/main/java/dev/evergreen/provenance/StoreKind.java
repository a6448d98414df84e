package dev.evergreen.provenance;

import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/**
 * What the trace store must be told of a kind of store, to read what its recorder has recorded. It
 * is found by {@link ServiceLoader}. Its methods are pure functions and may be called by several
 * threads; whatever bytes they are given, they return in time linear to them.
 */
public interface StoreKind {

  /**
   * A line of an epoch's facts: the store held nothing when the epoch began. Only who lets nobody
   * in before the epoch is on record can know that.
   */
  String EMPTY = "content: empty";

  /**
   * How a line of an epoch's facts begins that tells which process the store is: another one does
   * nothing of what was asked before.
   */
  String PROCESS = "run_id: ";

  /**
   * How a line of an epoch's facts begins that tells how far the store's clock is ahead of the
   * recorder's, in milliseconds: at least, and at most. So it is until the next epoch. See {@link
   * Skew}.
   */
  String CLOCK = "clock: ";

  /**
   * How a line of an epoch's facts begins that tells the row below which all is over that was sent,
   * to whatever process: the store will do nothing more of it in this epoch. The loader writes it,
   * for a recorder that has {@linkplain Spool#formerIsOver found that out}.
   */
  String OVER_BEFORE = "over before: ";

  /** Which process the store is, by an epoch's facts; empty if they do not tell. */
  static Optional<String> process(String facts) {
    return facts
        .lines()
        .filter(line -> line.startsWith(PROCESS))
        .map(line -> line.substring(PROCESS.length()).strip())
        .filter(name -> !name.isEmpty())
        .findFirst();
  }

  /** The row below which all is over, by an epoch's facts; 0 if they do not tell. */
  static long overBefore(String facts) {
    return facts
        .lines()
        .filter(line -> line.startsWith(OVER_BEFORE))
        .map(line -> line.substring(OVER_BEFORE.length()))
        .filter(row -> row.matches("[0-9]{1,18}"))
        .mapToLong(Long::parseLong)
        .max()
        .orElse(0);
  }

  /** Whether the store certainly is another process than it was. */
  static boolean isAnother(Optional<String> before, Optional<String> now) {
    return before.isPresent() && now.isPresent() && !before.equals(now);
  }

  /** What the store's operations do; its name is that of the kind. */
  Specification specification();

  /**
   * The words of a request as it was recorded: see {@link Operation#request()}.
   *
   * @param recorded the bytes; of a request that is too large to be kept, only the beginning
   */
  List<Bytes> words(Bytes recorded);

  /** The words of a request as a person types it, on one line; none if it is none. */
  default List<Bytes> typed(String line) {
    return words(Bytes.of(line));
  }

  /** A request as a recorder would record it, from its words; the inverse of {@link #words}. */
  Bytes recorded(List<Bytes> words);

  /** What the request is called in lists; in capitals. */
  default String verb(List<Bytes> words) {
    return words.isEmpty() ? "" : words.getFirst().text().toUpperCase(Locale.ROOT);
  }

  /**
   * A reply as people and {@code --json} are told it: a text, a number, a list of such, or null.
   */
  default @Nullable Object value(Bytes reply) {
    return reply.text();
  }

  /** The same of a reply in the form of the store's {@link Model}. */
  default @Nullable Object plain(Object reply) {
    return reply.toString();
  }

  /**
   * What the operation touches, as a trace counts it: nothing, if it may be a part of a later one.
   */
  default List<Touch> touches(Operation operation) {
    return mayBePart(operation) ? List.of() : specification().allTouches(operation);
  }

  /**
   * Whether the operation may be a part of a later one of its connection, such as a queued command
   * of a transaction.
   */
  default boolean mayBePart(Operation operation) {
    return false;
  }

  /**
   * Whether later operations of its connection look for it, beside what may be a part of them, up
   * to one that {@linkplain #endsSearch ends} that: to no other is it of use.
   */
  default boolean isSought(Operation operation) {
    return false;
  }

  /** Whether none of its connection that comes later looks for anything before it. */
  default boolean endsSearch(Operation operation) {
    return false;
  }

  /**
   * The operations that the store carried out at this one's place, each with its reply. None if
   * there are none, and also if it cannot be told which they are: the specification is then asked
   * what the operation itself touches, which is whatever such parts could have written.
   *
   * @param earlier what the connection did before, the newest first
   */
  default List<Operation> parts(Operation operation, Iterator<Operation> earlier) {
    return List.of();
  }

  /** The cell right below which the keys of a space are: see {@link Operation#space()}. */
  default Cell keys(String space) {
    return space.isEmpty() ? Cell.ALL : Cell.of(space);
  }

  /** Whether the store certainly had nothing in a cell when an epoch with these facts began. */
  default boolean wasEmpty(String facts, Cell cell) {
    return facts.lines().anyMatch(EMPTY::equals);
  }

  /** The places that something that did not pass the recorder may have written. */
  default List<Cell> outside(Bytes evidence) {
    return List.of(Cell.ALL);
  }

  /**
   * The request with what must not be stored replaced. Credentials are replaced by the recorder
   * already, before they reach the spool; this is for the rules of the user.
   */
  default Bytes redactRequest(Bytes recorded, Redactor redactor) {
    var words = words(recorded);
    var clean = words.stream().map(redactor::clean).toList();
    return clean.equals(words) ? recorded : recorded(clean);
  }

  /** The reply with what must not be stored replaced; it stays a reply of the same form. */
  default Bytes redactReply(Bytes reply, Redactor redactor) {
    return redactor.clean(reply);
  }

  /**
   * A sign of what did not pass the recorder with what must not be stored replaced, so that it
   * leads to the cells of requests of which the same was replaced.
   */
  default Bytes redactEvidence(Bytes evidence, Redactor redactor) {
    return redactor.clean(evidence);
  }

  /** The kind of that name. */
  static Optional<StoreKind> named(String name) {
    return ServiceLoader.load(StoreKind.class).stream()
        .map(ServiceLoader.Provider::get)
        .filter(kind -> kind.specification().store().equals(name))
        .findFirst();
  }
}

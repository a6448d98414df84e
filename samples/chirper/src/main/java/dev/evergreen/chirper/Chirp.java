package dev.evergreen.chirper;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * A post. Posts are ordered from the newest to the oldest.
 *
 * @param author the user's name
 * @param at when it was posted; together with the author it identifies the post
 * @param text what it says
 */
public record Chirp(String author, Instant at, String text) implements Comparable<Chirp> {

  /** The most characters (code points) of a text. */
  public static final int LONGEST = 280;

  private static final Comparator<Chirp> NEWEST_FIRST =
      Comparator.comparing(Chirp::at).reversed().thenComparing(Chirp::author);

  @Override
  public int compareTo(Chirp other) {
    return NEWEST_FIRST.compare(this, other);
  }

  /**
   * The text without white space around it.
   *
   * @throws RefusedException if nothing is left, or it is too long or holds control characters
   */
  public static String checkedText(String text) {
    var stripped = text.strip();
    if (stripped.codePoints().allMatch(Chirp::isInvisible)) {
      throw new RefusedException("A post needs some text.");
    }
    int length = stripped.codePointCount(0, stripped.length());
    if (length > LONGEST) {
      throw new RefusedException(
          "A post has at most %d characters; this one has %d.".formatted(LONGEST, length));
    }
    if (stripped.chars().anyMatch(c -> Character.isISOControl(c) && c != '\n')) {
      throw new RefusedException("A post has no control characters other than line breaks.");
    }
    return stripped;
  }

  /** Where it stands in the order of posts. */
  public Place place() {
    return new Place(at, author);
  }

  /** Space of any kind, or a character that only says how others are shown. */
  private static boolean isInvisible(int c) {
    return Character.isWhitespace(c)
        || Character.isSpaceChar(c)
        || Character.getType(c) == Character.FORMAT
        || Character.getType(c) == Character.SURROGATE;
  }

  /**
   * The newest posts of all lists. Touches little more than what it returns, however many lists
   * there are.
   *
   * @param lists each from the newest to the oldest
   */
  static List<Chirp> newest(int most, Collection<List<Chirp>> lists) {
    var queue = new PriorityQueue<Rest>(Math.max(1, lists.size()));
    for (var list : lists) {
      Rest.of(list.iterator(), queue);
    }
    var merged = new ArrayList<Chirp>();
    while (merged.size() < most && !queue.isEmpty()) {
      var rest = queue.remove();
      merged.add(rest.first());
      Rest.of(rest.others(), queue);
    }
    return merged;
  }

  /**
   * A place in the order of posts. Unlike the number of posts before it, it stays the same when
   * others come in.
   *
   * @param at the time of the post there
   * @param author the author of the post there
   */
  public record Place(Instant at, String author) {

    /** Before all posts. */
    public static final Place FIRST = new Place(Instant.parse("9999-12-31T23:59:59.999Z"), "");

    /**
     * The place of this {@linkplain #cursor cursor}.
     *
     * @throws RefusedException if it is none
     */
    static Place of(String cursor) {
      var parts = cursor.split(" ", 2);
      var at = time(parts[0]);
      if (at == null || at.isAfter(FIRST.at())) {
        throw new RefusedException(
            "A cursor is a time and a name, not “%s”.".formatted(Name.shortened(cursor)));
      }
      return new Place(at, Name.checked(parts[parts.length - 1]));
    }

    private static @Nullable Instant time(String text) {
      try {
        return Instant.parse(text);
      } catch (DateTimeParseException e) {
        return null;
      }
    }

    /** As a text, for those who ask for what comes behind it. */
    String cursor() {
      return at + " " + author;
    }

    boolean isBefore(Chirp chirp) {
      return new Chirp(author, at, "").compareTo(chirp) < 0;
    }
  }

  /** What is left of a list in {@link #newest}. */
  private record Rest(Chirp first, Iterator<Chirp> others) implements Comparable<Rest> {

    static void of(Iterator<Chirp> chirps, PriorityQueue<Rest> queue) {
      if (chirps.hasNext()) {
        queue.add(new Rest(chirps.next(), chirps));
      }
    }

    @Override
    public int compareTo(Rest other) {
      return first.compareTo(other.first);
    }
  }
}

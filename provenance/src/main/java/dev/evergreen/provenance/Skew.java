package dev.evergreen.provenance;

import java.util.regex.Pattern;

/**
 * How far a store's clock is ahead of its recorder's, as far as that is known: by so many
 * milliseconds at least and at most. A moment that somebody names by the store's clock lies between
 * two by the recorder's, which are the times of operations.
 */
public record Skew(long least, long most) {
  /** They are the same. */
  public static final Skew NONE = new Skew(0, 0);

  /** Nobody has compared them. */
  public static final Skew UNKNOWN = new Skew(Long.MIN_VALUE / 2, Long.MAX_VALUE / 2);

  private static final Pattern LINE =
      Pattern.compile("(?m)^" + StoreKind.CLOCK + "(-?[0-9]{1,18}) (-?[0-9]{1,18})$");

  /** How many milliseconds lie between what it is at least and at most. */
  public long width() {
    return most - least;
  }

  /** What an epoch's facts say of it. */
  public static Skew of(String facts) {
    var line = LINE.matcher(facts);
    return line.find()
        ? new Skew(Long.parseLong(line.group(1)), Long.parseLong(line.group(2)))
        : UNKNOWN;
  }

  /** The line of an epoch's facts that says it. */
  public String fact() {
    return StoreKind.CLOCK + least + " " + most;
  }

  /** The same, if either clock may be somewhat fast or slow. */
  public Skew within(long milliseconds) {
    return new Skew(least - milliseconds, most + milliseconds);
  }

  /** Whether both may be so. */
  public boolean meets(Skew other) {
    return least <= other.most && other.least <= most;
  }

  /** The first millisecond by the recorder's clock in which it may be one by the store's. */
  public long earliest(long moment) {
    return minus(moment, most);
  }

  /** The last one. */
  public long latest(long moment) {
    return minus(moment, least);
  }

  /** The first millisecond by the store's clock in which it may be one by the recorder's. */
  public long earliestThere(long moment) {
    return minus(moment, -least);
  }

  /** The last one. */
  public long latestThere(long moment) {
    return minus(moment, -most);
  }

  /** Or the first or last that there is. */
  private static long minus(long one, long other) {
    long difference = one - other;
    boolean overflows = ((one ^ other) & (one ^ difference)) < 0;
    return overflows ? (one < 0 ? Long.MIN_VALUE : Long.MAX_VALUE) : difference;
  }
}

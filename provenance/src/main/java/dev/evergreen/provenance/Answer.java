package dev.evergreen.provenance;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why an answer is as it is.
 *
 * @param question the operation that was asked about, with its reply
 * @param reply what the operation replied, or would have: in the form of the store's {@link Model},
 *     else bytes; null if nobody can tell
 * @param certainty how sure the witnesses are
 * @param witnesses each of them alone is a cause. One, unless all were asked for or the order of
 *     operations leaves several
 * @param minimal whether nothing can be left out of any of them
 * @param truncated whether there may be more witnesses, or older elements of one, than are here
 * @param note what else is to be said, for people; may be empty
 */
public record Answer(
    Operation question,
    @Nullable Object reply,
    Certainty certainty,
    List<Witness> witnesses,
    boolean minimal,
    boolean truncated,
    String note) {
  /** How sure an answer is. */
  public enum Certainty {
    /** The record is whole as far as the answer goes back, and the order of operations is known. */
    CERTAIN,
    /**
     * Operations overlapped, or it is not known whether one was carried out: one of the witnesses
     * is the cause.
     */
    ONE_OF,
    /** The cause, or a part of it, is older than the recording. */
    BEFORE_RECORDING,
    /** Somebody wrote who does not pass the shim. */
    OUTSIDE,
    /** A program that the store ran may have had a part in it, or a value that is hidden. */
    OPAQUE,
    /** Operations that had a part in it may be missing from the record. */
    GAP,
    /** No specification speaks of the operation. */
    NO_SPECIFICATION;

    /** The name as in {@code --json}: in small letters, with hyphens. */
    public String label() {
      return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }
  }

  /** The same, which says more to people; unless it says something already. */
  Answer noted(String more) {
    return note.isEmpty()
        ? new Answer(question, reply, certainty, witnesses, minimal, truncated, more)
        : this;
  }

  /** The same about a past of which only what later answers need is kept. */
  Answer folded() {
    return new Answer(
        question,
        reply,
        Certainty.BEFORE_RECORDING,
        witnesses,
        false,
        true,
        "of the time of this question, only what later answers need is kept");
  }
}

package dev.evergreen.provenance;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What was recorded, for questions. Methods may read from a database; they throw what that throws,
 * unchecked.
 */
public interface Trace {
  /**
   * The operations with rows below {@code before} that touch the cell, one above it or one below it
   * in a way that writes or could have written; the newest first, each once, with its parts. Read
   * in pages as the iterator goes on; nothing is held open between them, so that it may be left at
   * any place.
   */
  Writers writers(Cell cell, long before);

  /** Operations of which what was said is read when their turn comes. */
  interface Writers extends Iterator<Operation> {
    /** The row of the next one, which may have gone when it is asked for; 0 if there is none. */
    long row();

    /** Leaves the next one out, which is there. */
    void skip();

    /** These, which are at hand. */
    static Writers of(Iterator<Operation> all) {
      return new Writers() {
        private @Nullable Operation head = all.hasNext() ? all.next() : null;

        @Override
        public long row() {
          return head == null ? 0 : head.row();
        }

        @Override
        public void skip() {
          head = all.hasNext() ? all.next() : null;
        }

        @Override
        public boolean hasNext() {
          return head != null;
        }

        @Override
        public Operation next() {
          if (head == null) {
            throw new NoSuchElementException();
          }
          var next = head;
          skip();
          return next;
        }
      };
    }
  }

  /**
   * The operations that touch the cell, as {@link #writers} has them, and of which nobody knows
   * whether they took effect before this one or after it: those on other lanes that were under way
   * when it was, also with a row above its own.
   */
  Iterator<Operation> beside(Cell cell, Operation operation);

  /**
   * The row above those that were sent while the operation was under way: none sent later can have
   * come before it. Its own row if it was never sent, above all if it has no reply.
   */
  long end(Operation operation);

  /**
   * Whether what was sent in an epoch, if it took effect at all, had done so when another epoch
   * began: for then the store was another process, or had nothing left of it. An epoch may also
   * begin where the same one goes on with what it was asked: with another role, or for another
   * recorder.
   */
  default boolean isOver(long epoch, long later) {
    return epoch < later;
  }

  /**
   * The newest place with a row below {@code before} at which something may have happened to the
   * cell that is not on record, or behind which nothing shows of what was before; empty if the
   * record is whole from an empty store on.
   */
  Optional<Break> lastBreak(Cell cell, long before);

  /**
   * Whether something that was sent before a break may have taken effect after it, and could have
   * written the cell or a part of it. It is not among what is found behind the break: of such a
   * cell nobody knows what came to pass there, even if all that was sent behind it is known.
   */
  default boolean isCrossed(Break place, Cell cell) {
    boolean crossed = false;
    for (var before = writers(cell, place.row() + 1); before.hasNext() && !crossed; ) {
      crossed = end(before.next()) > place.row() + 1;
    }
    return crossed;
  }

  /**
   * The row up to which operations are gone that no answer from there on needs: see {@link
   * Retention}. What an answer names is the same, but other witnesses may be missing.
   */
  default long folded() {
    return 0;
  }

  /**
   * Of the cells that the operation has replaced, those in which something is gone that it has
   * replaced: nobody knows what would be there without it.
   */
  default List<Cell> covered(Operation operation) {
    return List.of();
  }

  /**
   * Answers a question from the trace as it is at one moment, whatever comes or goes meanwhile:
   * else what is read first and what is read last could be of two moments, between which something
   * was loaded or removed.
   */
  default <T extends @Nullable Object> T atOnce(Supplier<T> question) {
    return question.get();
  }

  /**
   * Is called again and again while a question is worked on, also while nothing is read. Throws if
   * nobody wants the answer any more.
   */
  default void checkTime() {}

  /**
   * A place at which the record is not whole, or begins anew.
   *
   * @param row the last row before it; 0 for the beginning of the recording
   * @param kind what it is
   */
  record Break(long row, Kind kind) {
    /** What is to be known of such a place. */
    public enum Kind {
      /**
       * The store is another process from here on, and begins with nothing: nothing that was sent
       * before is a cause of anything behind it.
       */
      EMPTY,
      /** The recording, or another epoch of the store, begins with a content that is not known. */
      BEGINNING,
      /** Operations passed that are not on record, or their record is gone. */
      GAP,
      /** Somebody wrote who does not pass the shim. */
      OUTSIDE
    }
  }
}

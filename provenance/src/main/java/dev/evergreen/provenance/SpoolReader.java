package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Reads the frames of a spool one after the other, also while another thread or process writes it.
 * To be used by one thread.
 *
 * <p>What a killed process had not finished, and what was destroyed, is skipped and told as a gap:
 * a frame at a time where the chain of lengths still leads on, else up to the next frame that its
 * sum proves to be one.
 */
final class SpoolReader implements AutoCloseable {

  /** What {@link #next} has found. */
  enum Step {
    /** A frame. */
    FRAME,
    /** At least {@link #lost} frames cannot be read. */
    GAP,
    /** Nothing more at the moment. */
    NOTHING
  }

  /**
   * Where a reader is.
   *
   * @param segment the index of the file
   * @param place the offset, and in the high half the ordinal of the frame there
   */
  record Position(long segment, long place) {
    static final Position START = new Position(-1, SpoolSegment.start());
  }

  private static final long NOWHERE = -1;

  private final Path directory;
  private Position position;
  private @Nullable SpoolSegment segment;
  private long frame;

  /** Which of the frame's bodies it is, of how many. */
  private int index;

  private int bodies;

  /** Where that is in the frame. */
  private int at;

  private long lost;

  /** Whether what is lost was on record once. */
  private boolean wasRecorded;

  SpoolReader(Path directory, Position position) {
    this.directory = directory;
    this.position = position;
  }

  /** Goes on to the next body of this frame or to the next frame, if there is one. */
  Step next() throws IOException {
    if (isAmid()) {
      at += length();
      index++;
      return Step.FRAME;
    }
    while (true) {
      var here = segment;
      if (here == null) {
        var step = open();
        if (step != null) {
          return step;
        }
        continue;
      }
      long at = position.place();
      var found = here.look(at);
      if (found == SpoolSegment.Place.FRAME) {
        begin(here, at);
        goTo(here.next(at));
        return Step.FRAME;
      }
      if (found != SpoolSegment.Place.OVER) {
        var step = pass(here, at, found);
        if (step != null) {
          return step;
        }
      }
      var step = enterNext(here);
      if (step != null) {
        return step;
      }
    }
  }

  private void begin(SpoolSegment here, long place) {
    frame = place;
    index = 0;
    bodies = here.bodies(place);
    at = here.firstBody(place);
  }

  /**
   * Whether the frame that was read has more bodies: the position is behind all of them, so that
   * who goes on from there must have read them.
   */
  boolean isAmid() {
    return index + 1 < bodies;
  }

  /** Deals with a place where no frame can be read; null if the segment is over there. */
  private @Nullable Step pass(SpoolSegment here, long at, SpoolSegment.Place found)
      throws IOException {
    boolean abandoned = abandoned(here);
    if (found != SpoolSegment.Place.DAMAGED && !abandoned) {
      return Step.NOTHING;
    }
    if (found != SpoolSegment.Place.EMPTY) {
      long next = behind(here, at);
      if (next != NOWHERE) {
        wasRecorded = isWritten(here, at, next);
        return gap(here.number(next) - here.number(at), next);
      }
    }
    wasRecorded = true;
    long further = here.search(at);
    if (SpoolSegment.offset(further) < here.size()) {
      return gap(Math.max(1, here.number(further) - here.number(at)), further);
    }
    if (!abandoned) {
      return Step.NOTHING;
    }
    if (found == SpoolSegment.Place.EMPTY) {
      return null;
    }
    return gap(1, further);
  }

  /**
   * The place behind a frame, and behind those damaged ones that follow it, if the words of all are
   * as they should be and lead to a place where a frame may be.
   */
  private static long behind(SpoolSegment here, long at) {
    long next = at;
    do {
      if (!here.leadsOn(next)) {
        return NOWHERE;
      }
      next = here.next(next);
    } while (here.look(next) == SpoolSegment.Place.DAMAGED);
    return next;
  }

  /** Whether there is a frame that was finished. Its writer was ended, or failed, before if not. */
  private static boolean isWritten(SpoolSegment here, long from, long to) {
    boolean written = false;
    for (long at = from; SpoolSegment.offset(at) < SpoolSegment.offset(to); at = here.next(at)) {
      written |= !here.isGivenUp(at);
    }
    return written;
  }

  private Step gap(long frames, long next) {
    lost = frames;
    goTo(next);
    return Step.GAP;
  }

  private void goTo(long place) {
    position = new Position(position.segment(), place);
  }

  /** Whether nobody writes there any more: another run has begun, or the file after it. */
  private boolean abandoned(SpoolSegment here) throws IOException {
    for (long index : SpoolFiles.list(directory).reversed()) {
      if (index <= here.index()) {
        return false;
      }
      try (var last = begun(index)) {
        if (last != null) {
          return last.run() != here.run()
              || here.look(position.place()) == SpoolSegment.Place.EMPTY;
        }
      }
    }
    return false;
  }

  /** Opens the file of the position, or the oldest behind it; null if nothing is missing. */
  private @Nullable Step open() throws IOException {
    var found = firstFrom(position.segment());
    if (found == null) {
      return Step.NOTHING;
    }
    segment = found;
    if (found.index() == position.segment()) {
      return null;
    }
    // What is not there any more at the very beginning is in another database.
    wasRecorded = !position.equals(Position.START);
    boolean first = !wasRecorded && found.firstNumber() == 1;
    position = new Position(found.index(), SpoolSegment.start());
    lost = 1;
    return first ? null : Step.GAP;
  }

  private @Nullable Step enterNext(SpoolSegment here) throws IOException {
    var next = firstFrom(here.index() + 1);
    if (next == null) {
      return Step.NOTHING;
    }
    if (here.look(position.place()) == SpoolSegment.Place.FRAME) {
      // It was put there when the file seemed to be over, before the next one was begun.
      next.close();
      return null;
    }
    here.close();
    segment = next;
    lost = next.firstNumber() - here.number(position.place());
    wasRecorded = true;
    position = new Position(next.index(), SpoolSegment.start());
    return next.run() == here.run() && lost != 0 ? Step.GAP : null;
  }

  /**
   * The first file from that index on that was begun, if there is one. While this goes through the
   * files, one that was not begun yet may be begun, filled and followed by the next. Files are
   * begun in their order: so once one of them is found to be, those before it are looked at again.
   */
  private @Nullable SpoolSegment firstFrom(long index) throws IOException {
    var found = firstBegun(index);
    if (found == null || found.index() == index) {
      return found;
    }
    found.close();
    return firstBegun(index);
  }

  private @Nullable SpoolSegment firstBegun(long from) throws IOException {
    for (long index : SpoolFiles.list(directory)) {
      var found = index >= from ? begun(index) : null;
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private @Nullable SpoolSegment begun(long index) throws IOException {
    return SpoolSegment.reading(index, SpoolFiles.path(directory, index));
  }

  /**
   * Whether the position is certainly none to which this spool was read, before anything is read.
   * That is known only where the file is there, and whole up to it.
   *
   * @param time of the last frame before it
   */
  boolean isOfAnother(long time) throws IOException {
    try (var file = begun(position.segment())) {
      long last = SpoolSegment.start();
      long at = last;
      while (file != null && SpoolSegment.offset(at) < SpoolSegment.offset(position.place())) {
        if (file.look(at) != SpoolSegment.Place.FRAME) {
          return false;
        }
        last = at;
        at = file.next(at);
      }
      return file != null && last != at && (at != position.place() || file.time(last) != time);
    }
  }

  /** Where the next frame is looked for; all before it was read. */
  Position position() {
    return position;
  }

  /** How many frames the gap takes, at least. */
  long lost() {
    return lost;
  }

  /**
   * Whether what is lost was on record once, so that its requests were sent: it was not only that
   * its writer had not come to its end.
   */
  boolean wasRecorded() {
    return wasRecorded;
  }

  /** Which life of the recorder wrote what is read. */
  long run() {
    return segment().run();
  }

  long number() {
    return segment().number(frame) + index;
  }

  /** The number that the next frame will have. */
  long nextNumber() {
    return segment == null ? 0 : segment.number(position.place());
  }

  FrameKind kind() {
    return segment().kind(frame);
  }

  byte flags() {
    return segment().flags(frame);
  }

  long time() {
    return segment().time(frame);
  }

  long firstSubject() {
    return segment().firstSubject(frame);
  }

  long secondSubject() {
    return segment().secondSubject(frame);
  }

  /** Several replies are about requests of consecutive numbers. */
  long about() {
    long first = segment().about(frame);
    return kind() == FrameKind.REPLY ? first + index : first;
  }

  byte[] body() {
    return segment().body(frame, at, length());
  }

  private int length() {
    return segment().bodyLength(frame, index);
  }

  private SpoolSegment segment() {
    if (segment == null) {
      throw new IllegalStateException("nothing was read yet");
    }
    return segment;
  }

  @Override
  public void close() {
    if (segment != null) {
      segment.close();
      segment = null;
    }
  }
}

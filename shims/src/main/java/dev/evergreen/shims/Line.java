package dev.evergreen.shims;

import java.util.ArrayList;
import java.util.List;

/**
 * A connection to the store, as it is on record: a lane of its own for each epoch in which it was
 * used. To be used by one thread at a time.
 */
public final class Line {
  private final Tape tape;
  private final String description;
  private final List<Long> numbers = new ArrayList<>(1);
  private long epoch;

  /** A new one. */
  public Line(Tape tape, String description) {
    this.tape = tape;
    this.description = description;
    begin();
  }

  private void begin() {
    epoch = tape.epoch();
    numbers.add(tape.lane(description));
  }

  /** The lane's number for what is sent now. */
  public long number() {
    if (epoch != tape.epoch()) {
      begin();
    }
    return numbers.getLast();
  }

  /**
   * Says that it has ended.
   *
   * @param byStore whether the store has said so, and will do nothing more of what it was asked
   */
  public void end(boolean byStore) {
    numbers.forEach(number -> tape.endLane(number, byStore));
  }
}

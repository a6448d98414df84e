package dev.evergreen.core.sim;

import org.jspecify.annotations.Nullable;

/**
 * What has happened in a world, as a number that is the same for two orders of steps that nobody
 * can tell apart: the happens-before relation (Mazurkiewicz's trace) of the steps, hashed.
 *
 * <p>Steps of different nodes are not ordered, unless one causes the other: a message, a thread or
 * a timer is named after the step that made it. What belongs to no node is ordered with everything
 * that was before and comes after: steps of the world, and those that touch what nodes share
 * outside of the core ({@link #touchAll}). So the order of two steps is left out only where neither
 * can have seen the other.
 */
final class History {

  /** What all have seen. */
  private long common;

  /** What each life has seen, added up. */
  private long lives;

  private @Nullable Life life;
  private long step;
  private int made;
  private boolean touchesAll;
  private boolean alone;

  /** A step of a life begins: a thread or an event of this name goes on. The one before is over. */
  void begin(Life of, long name, long nanos, boolean withAll) {
    end();
    life = of;
    step = mix(mix(mix(of.history, common), name), nanos);
    made = 0;
    touchesAll = withAll || alone;
  }

  private void end() {
    if (life == null) {
      return;
    }
    lives -= mix(life.name().hashCode(), life.history);
    life.history = step;
    lives += mix(life.name().hashCode(), life.history);
    if (touchesAll) {
      common = mix(common, lives);
    }
    life = null;
  }

  /** The life that the step belongs to; 0 before the first. */
  int life() {
    return life == null ? 0 : life.name().hashCode();
  }

  /** A name for something that the step makes. */
  long name() {
    return mix(step, ++made);
  }

  /** The step does something that others may see, or sees what others do, outside of the core. */
  void touchAll() {
    touchesAll = true;
  }

  /** From now on all steps do, or not any more. */
  void alone(boolean now) {
    alone = now;
    touchesAll = true;
  }

  /** The step does one of several things. */
  void choose(int choice) {
    step = mix(step, choice);
  }

  /** Between two steps something happens that all may see. */
  void mark() {
    end();
    common = mix(common, lives);
  }

  /** All that has happened, between two steps. */
  long value() {
    end();
    return mix(common, lives);
  }

  /** Of two numbers one; their order matters. */
  static long mix(long a, long b) {
    long hash = a * 0x9e3779b97f4a7c15L + b;
    hash = (hash ^ (hash >>> 32)) * 0xd6e8feb86659fd93L;
    hash = (hash ^ (hash >>> 32)) * 0xd6e8feb86659fd93L;
    return hash ^ (hash >>> 32);
  }
}

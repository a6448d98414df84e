package dev.evergreen.core.sim;

import java.util.ArrayList;
import java.util.List;

/**
 * A process as the scheduler sees it: its threads, timers and arriving messages go on, wait
 * together while it is paused, and are gone together when it is dead.
 */
final class Life {

  enum Condition {
    RUNNING,
    PAUSED,
    DEAD
  }

  private final String name;
  final List<SimThread> frozenThreads = new ArrayList<>();
  final List<Scheduler.Event> frozenEvents = new ArrayList<>();
  Condition condition = Condition.RUNNING;

  /** What it has done and seen, as {@link History} has it. */
  long history;

  Life(String name) {
    this.name = name;
  }

  String name() {
    return name;
  }

  boolean dead() {
    return condition == Condition.DEAD;
  }

  @Override
  public String toString() {
    return name;
  }
}

package dev.evergreen.core.engine;

import dev.evergreen.core.work.Tasks;

/** A call that a turn waits for: a turn on this node, or a call of another node. */
interface Awaited {

  /** Something older waits for the turn, and so for this call. */
  void hasten(long older, Tasks next);

  /** The turn goes on, with an outcome or without. */
  void goOnWithout();

  /** Whether the turn has gone on. */
  boolean over();
}

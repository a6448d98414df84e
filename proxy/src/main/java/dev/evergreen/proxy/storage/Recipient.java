package dev.evergreen.proxy.storage;

import dev.evergreen.store.Holder;

/**
 * Who reads what is stored, perhaps much at a time, such as a client's connection. What is kept for
 * it from being used for others counts four times when more is to be kept: so it gets about a
 * quarter of what others leave.
 */
public final class Recipient {
  /** Of the memory. */
  final Holder memory = new Holder();

  /** How many segments of the disk it has pinned, each as often as it has; guarded by the pins. */
  int pinned;

  /** One that reads nothing yet. */
  public Recipient() {}
}

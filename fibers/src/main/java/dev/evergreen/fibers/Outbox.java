package dev.evergreen.fibers;

import java.nio.ByteBuffer;

/**
 * Where the fibers of one processor leave what they have written when they are about to wait for
 * input. What it takes leaves in the order of its coming, before the processor polls or sleeps;
 * whoever polls for the processor sends for it, too.
 */
interface Outbox {

  /** Takes nothing, so that everything is sent at once. */
  Outbox NONE = new None();

  /**
   * Takes a copy of all that is in a buffer, if it can; on the processor's carrier only. Until
   * {@link OwnConnection#left} is called the connection's number must not be given back, and
   * nothing else be sent through it.
   */
  boolean post(OwnConnection from, ByteBuffer bytes);

  /** Sends all that was posted, unless somebody else is just doing that. */
  void send();

  /** Sends all that was posted; waits for whoever else does it. */
  void settle();

  /** Gives everything back; nobody may use it meanwhile or later. */
  void close();

  /** See {@link #NONE}. */
  final class None implements Outbox {
    private None() {}

    @Override
    public boolean post(OwnConnection from, ByteBuffer bytes) {
      return false;
    }

    @Override
    public void send() {}

    @Override
    public void settle() {}

    @Override
    public void close() {}
  }
}

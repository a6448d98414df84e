package dev.evergreen.fibers;

import dev.evergreen.kernel.Scratch;
import java.io.IOException;

/**
 * What tells one processor which of its sockets are ready: the part that another way of asking the
 * kernel would replace.
 *
 * <p>Any carrier may wait and deliver, one after the other, with its own scratch memory; the one
 * that is not the poller's owner never waits longer than 0. A wake-up is never lost: it ends the
 * owner's present or next wait, whoever else polled.
 */
interface Poller {

  /** Registers a socket for both directions and for its whole life. */
  void register(Descriptor descriptor) throws IOException;

  /**
   * Waits until there are events.
   *
   * @param nanos at most so long; 0 for not at all, less for ever
   * @return how many events there are, for {@link #deliver}
   */
  int await(Scratch scratch, long nanos);

  /** Opens the gates of the sockets that have become ready, by the events of the last wait. */
  void deliver(Scratch scratch, int events);

  /** Ends the owner's wait. Any thread may call it. */
  void wake();

  /** Gives everything back; nobody may use the poller meanwhile or later. */
  void close(Scratch scratch);
}

package dev.evergreen.memcached;

import static dev.evergreen.memcached.TextProtocol.bytes;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.memcached.store.Outcome;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Takes the value that follows the line of a command, and stores it. A value that is there whole is
 * stored from where it lies. One that is not is waited for in the input if it is small or the rest
 * is about to be received; else it goes into memory of the store as it comes, and its command line
 * stays in the input meanwhile, to be read again when the value is complete.
 */
final class ValueReceiver {
  static final byte[] TOO_LARGE = bytes("SERVER_ERROR object too large for cache");
  static final byte[] OUT_OF_MEMORY = bytes("SERVER_ERROR out of memory storing object");
  private static final byte[] BAD_END = bytes("CLIENT_ERROR bad data chunk");

  /** What a request may take up while it waits for its value. */
  static final int LONGEST_REST = 2048;

  /** Behind each value come a carriage return and a line feed. */
  private static final int TERMINATOR = 2;

  enum Arrival {
    /** It is not there yet. */
    MORE,
    /** It was offered to the store; the outcome says what came of it. */
    STORED,
    /** It was or will be dropped; the refusal says why. */
    REFUSED,
    /** Its line is too long to be kept until the value has come. */
    TOO_LONG
  }

  private final TextProtocol protocol;
  private final Input in;
  private @Nullable Reception reception;
  private long toSwallow;
  private Outcome outcome = Outcome.STORED;
  private byte[] refusal = BAD_END;

  /** The client flags of the value that is to be received. */
  int flags;

  ValueReceiver(TextProtocol protocol) {
    this.protocol = protocol;
    in = protocol.in;
  }

  Outcome outcome() {
    return outcome;
  }

  byte[] refusal() {
    return refusal;
  }

  boolean isPending() {
    return reception != null || toSwallow > 0;
  }

  void close() {
    toSwallow = 0;
    if (reception != null) {
      reception.close();
      reception = null;
    }
  }

  /** Drops what is there of a refused value; false if more of it must come. */
  boolean swallow() {
    int n = (int) Math.min(toSwallow, in.available());
    in.at += n;
    toSwallow -= n;
    return toSwallow == 0;
  }

  /**
   * Stores the value by the protocol's key and change.
   *
   * @param next where the value begins
   * @param replaces whether the old item must go when this one is refused, so that nobody takes it
   *     for this one
   * @param waiting whether nothing more is there
   */
  Arrival receive(int next, int length, boolean replaces, boolean waiting) throws IOException {
    if (reception != null) {
      return goOn(reception, next);
    }
    if (next - in.at > TextProtocol.LONGEST_LINE) {
      return Arrival.TOO_LONG;
    }
    if (!protocol.store.takes(protocol.key.length(), length, flags)) {
      protocol.statistics.tooLarge.increment();
      return refuse(next, length, replaces, TOO_LARGE);
    }
    long whole = (long) next - in.at + length + TERMINATOR;
    if (whole <= in.available()) {
      return store(next, length, replaces);
    }
    if (whole <= LONGEST_REST || (whole <= Buffers.SIZE && !waiting)) {
      return Arrival.MORE;
    }
    reception = protocol.receive(length);
    if (reception == null) {
      protocol.statistics.noMemory.increment();
      return refuse(next, length, replaces, OUT_OF_MEMORY);
    }
    return goOn(reception, next);
  }

  private Arrival store(int next, int length, boolean replaces) {
    in.at = next + length + TERMINATOR;
    if (!isTerminator(next + length)) {
      refusal = BAD_END;
      return Arrival.REFUSED;
    }
    outcome =
        protocol.store.store(protocol.key, in.memory, next, length, protocol.change, protocol.item);
    return settle(replaces);
  }

  private Arrival goOn(Reception reception, int next) {
    if (!reception.take(in, next) || in.end - next < TERMINATOR) {
      return Arrival.MORE;
    }
    in.at = next + TERMINATOR;
    this.reception = null;
    try (reception) {
      if (!isTerminator(next)) {
        refusal = BAD_END;
        return Arrival.REFUSED;
      }
      outcome = reception.commit(protocol.change, protocol.item);
      return settle(false);
    }
  }

  private Arrival settle(boolean replaces) {
    if (protocol.server.isObserved()) {
      protocol.observer.stored(outcome);
    }
    if (outcome == Outcome.OUT_OF_MEMORY) {
      protocol.statistics.noMemory.increment();
      refusal = OUT_OF_MEMORY;
      deleteOld(replaces);
      return Arrival.REFUSED;
    }
    return Arrival.STORED;
  }

  private Arrival refuse(int next, int length, boolean replaces, byte[] reason) {
    deleteOld(replaces);
    drop(next, length);
    refusal = reason;
    return Arrival.REFUSED;
  }

  private void deleteOld(boolean replaces) {
    if (replaces) {
      protocol.store.delete(protocol.key, protocol.change.clear(), protocol.item);
    }
  }

  /** Sees to it that the value, which is not wanted, is not taken for commands. */
  void drop(int next, int length) {
    in.at = next;
    toSwallow = (long) length + TERMINATOR;
  }

  private boolean isTerminator(int at) {
    return in.byteAt(at) == '\r' && in.byteAt(at + 1) == '\n';
  }
}

package dev.evergreen.shims.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * What Redis queues on a connection from MULTI to EXEC. Of that is kept what is about the
 * connection, or about what may be recorded.
 */
final class Queued {
  /** So much of a transaction is kept, in bytes; of a longer one nobody knows what it does. */
  private static final long MOST = 16 << 20;

  private boolean open;

  /**
   * Whether nobody knows if Redis queues: its reply to MULTI was not to come, which it may have
   * refused. Then it carries out at once what comes behind that.
   */
  private boolean unsure;

  private final ArrayList<Expected> queued = new ArrayList<>(0);
  private long bytes;

  /** Whether Redis queues what it is asked, for all that is known. */
  boolean isOpen() {
    return open;
  }

  /** The same of a request: what ends the queue is not queued. */
  boolean takes(Verb verb) {
    return open && !isEndedBy(verb);
  }

  boolean isUnsure() {
    return unsure;
  }

  boolean isTooLong() {
    return bytes > MOST;
  }

  boolean holds(Predicate<Verb> which) {
    return queued.stream().anyMatch(one -> which.test(one.verb));
  }

  /** Whether the reply to one of them may hold credentials. */
  boolean hidesReply() {
    return queued.stream().anyMatch(one -> one.told.hidesReply());
  }

  List<Expected> all() {
    return List.copyOf(queued);
  }

  void begin() {
    open = true;
  }

  /** Redis says nothing to a MULTI. */
  void beginUnheard() {
    open = true;
    unsure = true;
  }

  void add(Expected next) {
    // A MULTI within a transaction is refused.
    if (next.verb != Verb.SHARED && next.verb != Verb.OWN && next.verb != Verb.MULTI) {
      queued.add(next);
      bytes += next.bytes;
    }
  }

  /**
   * What Redis says to what comes behind a MULTI that was not replied to tells what became of that.
   */
  void learn(Verb verb, ReplyScanner reply) {
    if (!unsure) {
      return;
    }
    var word = reply.word();
    if (!reply.isError()) {
      // What ends a transaction is done by none.
      know(isEndedBy(verb) || (reply.kind() == '+' && word.equals("QUEUED")));
    } else if (word.startsWith("ERR MULTI calls")) {
      know(true);
    } else if (verb == Verb.EXEC) {
      know(word.startsWith("EXECABORT"));
    } else if (word.startsWith("ERR DISCARD with")) {
      know(false);
    }
  }

  /** What was said is said by who does not queue. */
  void learnOfNone() {
    if (unsure) {
      know(false);
    }
  }

  private void know(boolean taken) {
    unsure = false;
    if (!taken) {
      open = false;
      forget();
    }
  }

  private static boolean isEndedBy(Verb verb) {
    return switch (verb) {
      case EXEC, DISCARD, RESET, QUIT -> true;
      default -> false;
    };
  }

  void end() {
    open = false;
    unsure = false;
    forget();
  }

  /** Nobody knows any more what is queued. */
  void forget() {
    queued.clear();
    bytes = 0;
  }
}

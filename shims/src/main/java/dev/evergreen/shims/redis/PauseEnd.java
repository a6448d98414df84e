package dev.evergreen.shims.redis;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * Looks in what a client says for a request to end a pause, with nothing before it that makes
 * another of it. It goes on where it was: so it takes no longer however small the pieces are in
 * which that comes.
 */
final class PauseEnd {
  private final RequestScanner scanner = new RequestScanner();

  /** Whether what comes next is queued. */
  private boolean queues;

  private boolean found;
  private boolean inVain;

  /** Begins to look at a place where a request begins. */
  PauseEnd(int from) {
    scanner.restart(from);
  }

  /** Whether it is there; its bytes, and those before them, are where they were the last time. */
  boolean isIn(ByteBuffer bytes, int end) {
    while (!found && !inVain) {
      var what = scanner.scan(bytes, end);
      if (what == RequestScanner.Found.PART) {
        return false;
      }
      take(verb(what, bytes));
    }
    return found;
  }

  /** Whether it is not there and will not be, whatever comes. */
  boolean isInVain() {
    return inVain;
  }

  private Verb verb(RequestScanner.Found what, ByteBuffer bytes) {
    return switch (what) {
      case EMPTY -> Verb.SHARED;
      case WHOLE -> Verb.of(scanner, bytes);
      case LINE -> ofLine(bytes, scanner.began(), scanner.at);
      case PART, STRANGE -> Verb.UNREAD;
    };
  }

  private void take(Verb verb) {
    found = verb == Verb.UNPAUSES && !queues;
    inVain = !verb.leavesLaterOnes();
    queues = verb == Verb.MULTI || (queues && verb != Verb.EXEC && verb != Verb.DISCARD);
  }

  private static Verb ofLine(ByteBuffer bytes, int from, int to) {
    if (Inline.holdsZero(bytes, from, to)) {
      return Verb.UNREAD;
    }
    var words = Inline.split(bytes, from, to).orElse(List.of());
    var array = ByteBuffer.wrap(Inline.asArray(words));
    var scanner = new RequestScanner();
    return scanner.scan(array, array.capacity()) == RequestScanner.Found.WHOLE
        ? Verb.of(scanner, array)
        : Verb.UNREAD;
  }
}

package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.provenance.Batch;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What a client says while a lane owes it replies, and others keep the lane from giving them. It is
 * read, up to 64 KiB, because there may be a request in it that ends that. Such a request is
 * carried out at once; it has its reply when its turn comes.
 */
final class Ahead {
  private static final int MOST = Buffers.SIZE;

  private final ByteBuffer said = ByteBuffer.allocate(MOST);

  /** Replies, in the order of the requests, to those that were carried out before their turn. */
  private final ArrayDeque<Expected.Kept> early = new ArrayDeque<>();

  private boolean over;

  /**
   * A request that may be carried out before its turn.
   *
   * @param batch with nothing but it
   * @param told what the record is told of it
   */
  record Early(Batch batch, Told told) {}

  /** Whether more can be read. */
  boolean mayRead() {
    return !over && said.hasRemaining();
  }

  /** Reads what there is. */
  void read(Connection connection) throws IOException {
    try (var loan = Buffers.borrow()) {
      var buffer = loan.buffer();
      buffer.limit(Math.min(buffer.limit(), said.remaining()));
      over = connection.tryRead(buffer) < 0;
      said.put(buffer.flip());
      buffer.clear();
    }
  }

  /** Whether something was read that has not been moved. */
  boolean holds() {
    return said.position() > 0;
  }

  /** Moves as much as there is room for; answers how many bytes. */
  int moveTo(ByteBuffer into) {
    said.flip();
    int n = Math.min(said.remaining(), into.remaining());
    into.put(into.position(), said, 0, n).position(into.position() + n);
    said.position(n).compact();
    return n;
  }

  /** A request has been carried out before its turn. */
  void add(Expected.Kept reply) {
    early.add(reply);
  }

  /** Whether the next request that may be is one that was carried out before its turn. */
  boolean hasEarly() {
    return !early.isEmpty();
  }

  /** The reply to it. */
  Expected.Kept takeEarly() {
    return early.remove();
  }

  /**
   * Those requests that may be carried out before their turn and were not yet, in a part of a
   * buffer and what was read behind it.
   */
  List<Early> find(ByteBuffer before, int from, int to) {
    int length = to - from;
    var all = ByteBuffer.allocate(length + said.position());
    all.put(0, before.duplicate().clear(), from, length);
    all.put(length, said.duplicate().clear(), 0, said.position());
    return find(all).stream().skip(early.size()).toList();
  }

  /** Of such requests those before anything that may make others of them. */
  static List<Early> find(ByteBuffer all) {
    var found = new ArrayList<Early>();
    var scanner = new RequestScanner();
    while (true) {
      switch (scanner.scan(all, all.capacity())) {
        case EMPTY -> {}
        case WHOLE -> {
          if (!take(Verb.of(scanner, all), all, scanner, Told.ALL, found)) {
            return found;
          }
        }
        case LINE -> {
          var words = words(all, scanner.began(), scanner.at);
          if (words.isEmpty()) {
            return found;
          }
          var array = ByteBuffer.wrap(Inline.asArray(words.get()));
          var plain = new RequestScanner();
          boolean nothing = words.get().isEmpty();
          if (!nothing) {
            plain.scan(array, array.capacity());
          }
          var verb = nothing ? Verb.SHARED : Verb.of(plain, array);
          if (!take(verb, all, scanner, Told.ALL.orElse(array), found)) {
            return found;
          }
        }
        case PART, STRANGE -> {
          return found;
        }
      }
    }
  }

  /**
   * The words of a line, unless only Redis knows what to make of it. It takes none that is longer
   * than a buffer, nor anything behind that.
   */
  private static Optional<List<byte[]>> words(ByteBuffer all, int from, int to) {
    return to - from > Buffers.SIZE || ClientRequests.holdsZero(all, from, to)
        ? Optional.empty()
        : Inline.split(all, from, to);
  }

  private static boolean take(
      Verb verb, ByteBuffer all, RequestScanner scanner, Told told, List<Early> found) {
    if (verb == Verb.RELEASES) {
      var batch = new Batch();
      batch.begin(all, scanner.began());
      batch.add(scanner.at);
      found.add(new Early(batch, told));
    }
    return verb.leavesLaterOnes();
  }
}

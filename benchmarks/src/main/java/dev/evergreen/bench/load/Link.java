package dev.evergreen.bench.load;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.evergreen.kernel.Errno;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A connection: which requests wait for replies, and bytes that wait for their rest or for room.
 */
final class Link {

  private final Sockets sockets;
  private final int index;
  private final int fd;

  /** A ring of the requests that wait: when they were due, and what they ask for. */
  private final long[] due;

  /** For how long each was not sent though it was due and a connection was free. */
  private final long[] lags;

  private final int[] requests;

  /** Whether the kernel notes when replies come: in open loop. */
  private final boolean stamped;

  private int first;
  private int waiting;

  private byte @Nullable [] unsent;
  private byte @Nullable [] unread;

  /**
   * Connects.
   *
   * @param index by which its events are known
   */
  Link(Sockets sockets, LoadPlan plan, int index) throws IOException {
    this.sockets = sockets;
    this.index = index;
    due = new long[plan.depth()];
    lags = new long[plan.depth()];
    requests = new int[plan.depth()];
    stamped = plan.open();
    fd = sockets.connect(plan.server(), index, stamped);
  }

  int waiting() {
    return waiting;
  }

  /** Notes that a request is about to be sent. */
  void expect(long dueNanos, long lagNanos, int key, boolean update) {
    int last = (first + waiting++) % due.length;
    due[last] = dueNanos;
    lags[last] = lagNanos;
    requests[last] = update ? ~key : key;
  }

  /** When the first request that waits was due. */
  long firstDue() {
    return due[first];
  }

  /** For how long it was not sent though it was due and a connection was free. */
  long firstLag() {
    return lags[first];
  }

  /** Its key. */
  int firstKey() {
    return requests[first] < 0 ? ~requests[first] : requests[first];
  }

  boolean firstUpdates() {
    return requests[first] < 0;
  }

  /** It was answered. */
  void removeFirst() {
    first = (first + 1) % due.length;
    waiting--;
  }

  /** Sends the bytes up to {@code end}, or keeps what there is no room for. */
  void send(MemorySegment from, long end) throws IOException {
    if (unsent != null) {
      unsent = joined(unsent, from, 0, end);
      return;
    }
    long sent = count(sockets.send(fd, from.asSlice(0, end)), "send");
    if (sent < end) {
      unsent = joined(new byte[0], from, sent, end);
      sockets.watchOutput(fd, index, true);
    }
  }

  /** Sends what was kept, as far as there is room. */
  void sendRest(MemorySegment scratch) throws IOException {
    var rest = unsent;
    long sent = -1;
    for (int at = 0; rest != null && sent != 0; at += (int) sent) {
      long length = Math.min(rest.length - at, scratch.byteSize());
      MemorySegment.copy(rest, at, scratch, JAVA_BYTE, 0, (int) length);
      sent = count(sockets.send(fd, scratch.asSlice(0, length)), "send");
      if (at + sent == rest.length) {
        unsent = null;
        sockets.watchOutput(fd, index, false);
        return;
      }
      unsent = Arrays.copyOfRange(rest, at + (int) sent, rest.length);
    }
  }

  /** Reads what has come, after what was kept; returns where it ends, or 0 if nothing has come. */
  long receive(MemorySegment into) throws IOException {
    long kept = 0;
    if (unread != null) {
      kept = unread.length;
      MemorySegment.copy(unread, 0, into, JAVA_BYTE, 0, (int) kept);
    }
    var room = into.asSlice(kept);
    int read = stamped ? sockets.receiveStamped(fd, room) : sockets.receive(fd, room);
    if (read == -Errno.EAGAIN) {
      return 0;
    }
    if (Errno.check(read, "receive") == 0) {
      throw new IOException("the server closed a connection");
    }
    unread = null;
    return kept + read;
  }

  /** Keeps bytes until more of them come. */
  void keep(MemorySegment from, long at, long end) {
    unread = joined(new byte[0], from, at, end);
  }

  private static int count(int result, String action) throws IOException {
    return result == -Errno.EAGAIN ? 0 : Errno.check(result, action);
  }

  private static byte[] joined(byte[] before, MemorySegment from, long at, long end) {
    var all = Arrays.copyOf(before, before.length + (int) (end - at));
    MemorySegment.copy(from, JAVA_BYTE, at, all, before.length, (int) (end - at));
    return all;
  }

  void close() {
    sockets.close(fd);
  }
}

package dev.evergreen.fibers;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The buffers of a process: how many are used, and those that are not.
 *
 * <p>When the JVM is asked for more native memory than it has, it has the garbage collector look
 * for some, and says no after half a second, even if others have given back by then what was asked
 * for. So it is not asked while there is any other way: what was made stays, and one more is made
 * only when none lies here.
 *
 * <p>Invariant: each that was made is counted as used, or lies here, or both for a moment. Who
 * takes one counts up before it looks, and who leaves one puts it here before it counts down. So
 * when somebody finds none here, all that were made are counted, and so is the one that it is about
 * to make. Hence no more are ever made than were used at once, and who bounds the ones that are
 * used bounds what the JVM is asked for.
 *
 * <p>There are never more than a number that leaves some of the JVM's native memory to others, such
 * as its own sockets: what was made stays, so that they would find none for long after a peak.
 *
 * <p>What nobody has needed for a while goes back, an eighth at a time. The collector may come for
 * it much later, and until then the JVM has no memory for others in its place. So the next go back
 * when it has come for those. At any time the JVM holds an eighth of them at most beside those that
 * were made.
 *
 * <p>Any thread may use it. Nobody waits here for others.
 */
final class BufferStock {

  /** One of so many that were not needed goes back at a time. */
  private static final int PART = 8;

  private final Supplier<ByteBuffer> make;
  private final int most;
  private final Executor later;
  private final AtomicInteger used = new AtomicInteger();
  private final AtomicInteger made = new AtomicInteger();

  /** The last one that was left is taken first, as it may still be in the core's cache. */
  private final ConcurrentLinkedDeque<ByteBuffer> spare = new ConcurrentLinkedDeque<>();

  /** How many have lain here all the time since it was looked last; rather fewer than more. */
  private final AtomicInteger unneeded = new AtomicInteger();

  /** Whether it will be looked whether some can go back. */
  private final AtomicBoolean looking = new AtomicBoolean();

  /**
   * Those that the collector has not come for. Not the buffers: others may still have views on
   * their memory, which keep it as well.
   */
  private final List<WeakReference<MemorySegment.Scope>> dropped = new ArrayList<>();

  /**
   * An empty one.
   *
   * @param make one more, of native memory
   * @param most how many there may be
   * @param later runs a short task after such a while
   */
  BufferStock(Supplier<ByteBuffer> make, int most, Executor later) {
    this.make = make;
    this.most = most;
    this.later = later;
  }

  /** How many are used, or about to be. */
  int used() {
    return used.get();
  }

  /** How many there are, used or not. */
  int made() {
    return made.get();
  }

  /** Whether there may be one more, if the JVM has memory for it. */
  boolean mayMake() {
    return made.get() < most;
  }

  private int idle() {
    return made.get() - used.get();
  }

  /** One that is empty, however many are used. */
  ByteBuffer take() {
    used.incrementAndGet();
    return takePromised();
  }

  /**
   * Counts one that is about to be taken, if fewer are used than a number: there will never be more
   * than that by those who ask so.
   */
  boolean promise(int most) {
    int now = used.get();
    while (now < most) {
      int found = used.compareAndExchange(now, now + 1);
      if (found == now) {
        return true;
      }
      now = found;
    }
    return false;
  }

  /** One that is counted already, unless there is no memory for it: then it counts no more. */
  ByteBuffer takePromised() {
    try {
      var lying = poll();
      if (lying != null) {
        return lying;
      }
      return oneMore();
    } catch (Throwable e) {
      used.decrementAndGet();
      throw e;
    }
  }

  /** It counts before it is there, as others may have one made at the same time. */
  private ByteBuffer oneMore() {
    try {
      if (made.incrementAndGet() > most) {
        throw new OutOfMemoryError("all buffers are used, and there may be only " + most);
      }
      return make.get();
    } catch (Throwable e) {
      made.decrementAndGet();
      throw e;
    }
  }

  /** One that is empty and lies here; null if none does, or as many are used. */
  @Nullable ByteBuffer takeLying(int most) {
    if (!promise(most)) {
      return null;
    }
    var lying = poll();
    if (lying == null) {
      used.decrementAndGet();
    }
    return lying;
  }

  private @Nullable ByteBuffer poll() {
    var lying = spare.pollFirst();
    int left = idle();
    if (left < unneeded.get()) {
      unneeded.accumulateAndGet(left, Math::min);
    }
    return lying == null ? null : lying.clear();
  }

  /** It is not used any more. */
  void leave(ByteBuffer buffer) {
    try {
      spare.addFirst(buffer);
    } catch (OutOfMemoryError e) {
      // There is no place for it, so that it goes to the collector.
      made.decrementAndGet();
      throw e;
    } finally {
      used.decrementAndGet();
    }
    lookLater();
  }

  private void lookLater() {
    if (looking.get() || !looking.compareAndSet(false, true)) {
      return;
    }
    try {
      later.execute(this::look);
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // There may be no memory for that. The next that is left tries it again.
      looking.set(false);
    }
  }

  private void look() {
    looking.set(false);
    shrink();
    if (!spare.isEmpty()) {
      lookLater();
    }
  }

  private synchronized void shrink() {
    int idle = idle();
    int least = Math.min(unneeded.getAndSet(idle), idle);
    dropped.removeIf(scope -> scope.refersTo(null));
    while (dropped.size() * PART < least) {
      made.decrementAndGet();
      var last = spare.pollLast();
      if (last == null) {
        made.incrementAndGet();
        return;
      }
      dropped.add(new WeakReference<>(MemorySegment.ofBuffer(last).scope()));
    }
  }
}

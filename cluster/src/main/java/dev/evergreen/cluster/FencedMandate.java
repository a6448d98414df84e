package dev.evergreen.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.core.work.Waiters;
import dev.evergreen.core.work.Workers;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The mandate where the storage can fence. No clock has a part in it.
 *
 * <p><b>Invariant.</b> While a node owns a partition, nobody else's save can succeed who had it
 * before and has not handed it over. A save succeeds only while its node is alive in the storage,
 * and before it owns anything a node has given up there all who are alive and not members:
 *
 * <ol>
 *   <li>It joins the fence itself, once, and looks who is alive there, itself included.
 *   <li><em>Then</em> it looks who is a member, as Pekko's own actor knows at that moment. All who
 *       were in the first look had been members before, and Pekko lets nobody in whom not all
 *       members have seen. So who is missing was removed.
 *   <li>A majority answers a question that was asked after both, by what Pekko's own actor there
 *       knows at that moment. So the smaller part of a split cluster gives nobody up, and the
 *       cluster had not removed this node when it joined the fence: whoever is to have its
 *       partitions later finds it there. Links may hear of a removal later than Pekko: their being
 *       up proves nothing. It is a majority also if who joins or leaves counts with the others; and
 *       of two nodes it is both, as each may give up the other by an operator's word or evidence.
 *   <li>It gives up who is missing, unless it was given up itself; the storage waits for their
 *       saves that are under way. So of two nodes that have removed each other one stays.
 * </ol>
 *
 * <p>Pekko removes a member when all who stay have seen that it is down, and gives its partitions
 * to others after that. So to whom they are given sees in the second step that it is missing,
 * however late its events arrive.
 *
 * <p>Thread-safe.
 */
final class FencedMandate implements Mandate {

  private static final long AGAIN_NANOS = 100_000_000;

  private final NodeId self;
  private final Fence fence;
  private final Tenure tenure;
  private final Supplier<Roster> roster;
  private final Listener listener;
  private final Storage storage;
  private final Workers workers;
  private final Waiters waiting = new Waiters();

  /** Touched by who looks. */
  private boolean joined;

  @GuardedBy("this")
  private boolean looking;

  @GuardedBy("this")
  private long begun;

  @GuardedBy("this")
  private long done;

  /** What others are told. */
  interface Listener {

    /** A node was given up in the storage. */
    void gaveUp(NodeId other);

    /** The storage or the cluster could not be asked; it is tried again. */
    void failed(Throwable reason);

    /** This node itself was given up. May be called more than once, by threads of turns. */
    void givenUp();
  }

  /**
   * @param roster who belongs to the cluster at the moment; blocks, and throws an {@link
   *     IllegalStateException} if it cannot be known now
   */
  FencedMandate(
      NodeId self,
      Fence fence,
      Tenure tenure,
      Supplier<Roster> roster,
      Listener listener,
      Workers workers) {
    this.self = self;
    this.workers = workers;
    this.fence = fence;
    this.tenure = tenure;
    this.roster = roster;
    this.listener = listener;
    this.storage = new Watched(fence.storageOf(self), listener::givenUp);
  }

  @Override
  public Storage storage() {
    return storage;
  }

  @Override
  public boolean confirmed() {
    try {
      boolean alive = fence.isAlive(self);
      if (!alive) {
        listener.givenUp();
      }
      return alive;
    } catch (StorageException e) {
      return false;
    }
  }

  /** Those who ask while another looks wait for the next look, which is for all of them. */
  @Override
  public boolean takeOver() {
    var thread = Thread.currentThread();
    waiting.add(thread);
    try {
      long wanted = next();
      while (!isDone(wanted) && !tenure.isOver()) {
        if (thread.isInterrupted()) {
          return false;
        }
        if (begins()) {
          lookOnce();
        } else {
          workers.threads().park();
        }
      }
      return !tenure.isOver();
    } finally {
      waiting.remove(thread);
    }
  }

  /** The number of the next look. */
  private synchronized long next() {
    return begun + 1;
  }

  private synchronized boolean isDone(long look) {
    return done >= look;
  }

  /** Whether nobody looks, so that the calling thread is to. */
  private synchronized boolean begins() {
    boolean begins = !looking;
    if (begins) {
      looking = true;
      begun++;
    }
    return begins;
  }

  private void lookOnce() {
    boolean complete = false;
    try {
      complete = look();
      if (!complete) {
        workers.threads().parkNanos(AGAIN_NANOS);
      }
    } finally {
      ends(complete);
      waiting.wake(workers);
    }
  }

  /** Only one looks at a time, so that this is the end of the last look that has begun. */
  private synchronized void ends(boolean complete) {
    looking = false;
    done = complete ? begun : done;
  }

  /** Whether nobody who was removed is alive any more. */
  private boolean look() {
    try {
      if (!joined) {
        fence.join(self);
      }
      var gone = new HashSet<>(fence.alive());
      if (!gone.contains(self)) {
        listener.givenUp(); // by others, since it joined or before that
        return false;
      }
      var now = roster.get();
      gone.removeAll(now.members());
      if (!now.voters().contains(self)) {
        return false; // not yet, or not any more
      }
      if (joined && gone.isEmpty()) {
        return true;
      }
      if (!tenure.isHeardBy(now)) {
        return false;
      }
      if (!tenure.agree()) {
        return false;
      }
      joined = true;
      return giveUp(gone);
    } catch (Throwable e) { // an Error, too
      // Whatever it is: whoever waits for this look asks again, and nobody else will.
      listener.failed(e);
      return false;
    }
  }

  /** Whether this node was alive itself. */
  private boolean giveUp(Set<NodeId> gone) {
    for (var node : gone) {
      if (!fence.giveUp(node, self)) {
        listener.givenUp();
        return false;
      }
      listener.gaveUp(node);
    }
    return true;
  }

  /** A node that has left has no need to be given up by others. */
  @Override
  public void end() {
    try {
      fence.giveUp(self);
    } catch (StorageException e) {
      listener.failed(e);
    }
  }

  /** The storage of this node, which tells when the node is found to be given up. */
  private record Watched(Storage storage, Runnable givenUp) implements Storage {

    @Override
    public Optional<Stored> load(GrainId grain) {
      return storage.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      try {
        return storage.save(grain, expected, state);
      } catch (NodeGivenUpException e) {
        givenUp.run();
        throw e;
      }
    }

    @Override
    public boolean fenced() {
      return true;
    }

    @Override
    public void close() {}
  }
}

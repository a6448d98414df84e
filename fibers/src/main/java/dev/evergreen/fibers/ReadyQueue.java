package dev.evergreen.fibers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The continuations that are ready to run on one processor, oldest first. Any thread may put and
 * take. It is the queue of Michael and Scott (PODC 1996), with the time of arrival in each node so
 * that others can see how long the first one has waited without taking it. Lock-free: a thread that
 * the kernel suspends in the middle of an operation holds up nobody, which matters as carriers
 * share their cores with the rest of the machine.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>{@code head} is a node whose task was taken; the tasks are in the nodes after it.
 *   <li>{@code tail} is the last node or the one before it, and never behind {@code head}.
 *   <li>{@code next} of a node is set once, from null to the following node; when the node leaves
 *       the list it is set to the node itself, so that an old dead node does not keep younger ones
 *       alive. Only the one who moved {@code head} past a node does that, and takes the task of the
 *       node after it.
 * </ol>
 */
final class ReadyQueue {

  private static final VarHandle HEAD;
  private static final VarHandle TAIL;
  private static final VarHandle NEXT;

  static {
    try {
      var lookup = MethodHandles.lookup();
      HEAD = lookup.findVarHandle(ReadyQueue.class, "head", Node.class);
      TAIL = lookup.findVarHandle(ReadyQueue.class, "tail", Node.class);
      NEXT = lookup.findVarHandle(Node.class, "next", Node.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final class Node {
    private final long since;
    private @Nullable Runnable task;
    private volatile @Nullable Node next;

    Node(@Nullable Runnable task, long since) {
      this.task = task;
      this.since = since;
    }
  }

  private volatile Node head = new Node(null, 0);
  private volatile Node tail = head;

  /** Appends a task that became ready at {@code now}, a {@link System#nanoTime}. */
  void put(Runnable task, long now) {
    var node = new Node(task, now);
    while (true) {
      var last = tail;
      var next = last.next;
      if (next == null) {
        if (NEXT.compareAndSet(last, (Node) null, node)) {
          // If this fails, somebody has moved it already.
          TAIL.compareAndSet(this, last, node);
          return;
        }
      } else if (next != last) {
        TAIL.compareAndSet(this, last, next);
      }
      // Else it has left the list since we looked: look again.
    }
  }

  /** Takes the oldest task, if there is one. */
  @Nullable Runnable take() {
    while (true) {
      var first = head;
      var last = tail;
      var next = first.next;
      if (next == null) {
        return null;
      }
      if (next != first && first == last) {
        TAIL.compareAndSet(this, last, next);
      } else if (next != first && HEAD.compareAndSet(this, first, next)) {
        first.next = first;
        var task = next.task;
        next.task = null;
        return task;
      }
    }
  }

  boolean isEmpty() {
    while (true) {
      var first = head;
      var next = first.next;
      if (next != first) {
        return next == null;
      }
    }
  }

  /**
   * Says how long the oldest task has waited at {@code now}, in nanoseconds; 0 if there is none.
   */
  long oldestWait(long now) {
    while (true) {
      var first = head;
      var next = first.next;
      if (next != first) {
        return next == null ? 0 : Math.max(0, now - next.since);
      }
    }
  }

  /** Counts the tasks; of use for reports only, as it walks the queue and others change it. */
  int count() {
    int count = 0;
    var node = head.next;
    while (node != null) {
      var next = node.next;
      if (next == node) {
        return count;
      }
      count++;
      node = next;
    }
    return count;
  }
}

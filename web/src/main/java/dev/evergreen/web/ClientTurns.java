package dev.evergreen.web;

import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Queue;
import java.util.concurrent.Executor;

/**
 * Runs each task on a thread of its own. Clients take turns, so that who asks for much at once
 * waits for it, and who asks for little is not behind that. Which task a thread runs is found out
 * when it begins, as until then others may have come. What is nobody's is run without a turn.
 */
final class ClientTurns implements Executor {

  /** A task of a client. */
  interface Task extends Runnable {
    Object client();
  }

  /** Each client who waits, the next one first. Guarded by this. */
  private final LinkedHashMap<Object, Queue<Runnable>> waiting = new LinkedHashMap<>();

  private final Executor threads;

  ClientTurns(Executor threads) {
    this.threads = threads;
  }

  @Override
  public void execute(Runnable task) {
    if (!(task instanceof Task turn)) {
      threads.execute(task);
      return;
    }
    synchronized (this) {
      // It has a thread before it waits: else, without one, each later thread would be one behind.
      threads.execute(() -> next().run());
      waiting.computeIfAbsent(turn.client(), any -> new ArrayDeque<>()).add(task);
    }
  }

  private synchronized Runnable next() {
    var first = waiting.pollFirstEntry();
    var task = first.getValue().remove();
    if (!first.getValue().isEmpty()) {
      waiting.put(first.getKey(), first.getValue());
    }
    return task;
  }
}

package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

/** In which order clients are worked for. */
final class ClientTurnsTest {

  private record Asked(String client, Runnable what) implements ClientTurns.Task {
    @Override
    public void run() {
      what.run();
    }
  }

  private final Queue<Runnable> threads = new ArrayDeque<>();
  private final Executor turns = new ClientTurns(threads::add);
  private final List<String> done = new ArrayList<>();

  private void ask(String client) {
    turns.execute(new Asked(client, () -> done.add(client)));
  }

  private void runThreads() {
    while (!threads.isEmpty()) {
      threads.remove().run();
    }
  }

  @Test
  void whoAsksForLittleIsNotBehindAllThatAnotherAsksFor() {
    for (var client : List.of("much", "much", "much", "much", "little")) {
      ask(client);
    }
    runThreads();
    assertEquals(List.of("much", "little", "much", "much", "much"), done);
  }

  @Test
  void allHaveTheirTurnsAlsoWhenTheyAskAnew() {
    ask("one");
    ask("one");
    ask("two");
    threads.remove().run();
    ask("two");
    ask("three");
    runThreads();
    assertEquals(List.of("one", "two", "one", "three", "two"), done);
  }

  @Test
  void whatIsNobodysWaitsForNoTurn() {
    ask("one");
    turns.execute(() -> done.add("nobody's"));
    ask("one");
    runThreads();
    assertEquals(List.of("one", "nobody's", "one"), done);
  }

  @Test
  void whatNoThreadCanBeHadForIsNotInFrontOfOthers() {
    var refusing =
        new ClientTurns(
            thread -> {
              if (threads.size() == 1) {
                throw new RejectedExecutionException();
              }
              threads.add(thread);
            });
    refusing.execute(new Asked("one", () -> done.add("first")));
    assertThrows(
        RejectedExecutionException.class,
        () -> refusing.execute(new Asked("one", () -> done.add("refused"))));
    runThreads();
    refusing.execute(new Asked("two", () -> done.add("later")));
    runThreads();
    assertEquals(List.of("first", "later"), done);
  }

  /** Seen: another's thread did it, and left its own task to nobody. */
  @Test
  void whatNoThreadCanBeHadForIsNotDone() {
    var refusing =
        new ClientTurns(
            thread -> {
              if (threads.size() == 2) {
                runThreads();
                throw new RejectedExecutionException();
              }
              threads.add(thread);
            });
    refusing.execute(new Asked("one", () -> done.add("first")));
    refusing.execute(new Asked("one", () -> done.add("second")));
    assertThrows(
        RejectedExecutionException.class,
        () -> refusing.execute(new Asked("two", () -> done.add("refused"))));
    assertEquals(List.of("first", "second"), done);
  }
}

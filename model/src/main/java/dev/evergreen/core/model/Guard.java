package dev.evergreen.core.model;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks and tells somebody who only watches a node. That he throws, against his promise, is logged
 * the first time, and keeps nothing from going on: a turn that did not end since it could not be
 * told would hold its grain for ever.
 */
public final class Guard {

  private final String whom;
  private final AtomicBoolean failed = new AtomicBoolean();

  /**
   * For one of them.
   *
   * @param whom the log says that he has failed
   */
  public Guard(String whom) {
    this.whom = whom;
  }

  /** Tells him of an event, by a call of his. */
  public void tell(Runnable event) {
    try {
      event.run();
    } catch (Throwable e) {
      failed(e);
    }
  }

  /** His answer; another one if there is none. */
  public <T> T ask(Supplier<T> question, T otherwise) {
    var answer = ask(question);
    return answer == null ? otherwise : answer;
  }

  /** His answer; null if there is none. */
  public <T> @Nullable T ask(Supplier<? extends @Nullable T> question) {
    try {
      return question.get();
    } catch (Throwable e) {
      failed(e);
      return null;
    }
  }

  private void failed(Throwable thrown) {
    if (!failed.getAndSet(true)) {
      Failures.log(whom + " (it may do so again, which is not logged)", thrown);
    }
  }
}

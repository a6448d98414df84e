package dev.evergreen.chirper.variants;

import dev.evergreen.chirper.Chirp;
import java.util.List;

/** Keeps a display up to date until it is closed. */
public interface LiveTimeline extends AutoCloseable {

  @Override
  void close();

  /** Where a timeline is shown; called by one thread at a time. */
  interface Display {

    /** Shows a timeline in place of what was there. */
    void show(List<Chirp> timeline);

    /** Says that what is shown may be outdated. */
    void trouble(String message);
  }
}

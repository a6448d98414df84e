package dev.evergreen.chirper;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;

/**
 * Shows how far a long piece of work is: a bar that redraws itself on a terminal, otherwise a line
 * every few seconds. Any thread may call its methods.
 */
final class ProgressBar implements AutoCloseable {

  private static final int WIDTH = 30;
  private static final Duration REDRAW = Duration.ofMillis(200);
  private static final Duration NEXT_LINE = Duration.ofSeconds(5);

  private final PrintStream out;
  private final boolean terminal;
  private final String what;
  private final long total;
  private final LongAdder done = new LongAdder();
  private final long start = System.nanoTime();
  private final Thread drawer;

  /** Starts to show that nothing of {@code total} units is done. */
  ProgressBar(PrintStream out, boolean terminal, String what, long total) {
    this.out = out;
    this.terminal = terminal;
    this.what = what;
    this.total = total;
    drawer = Thread.ofVirtual().start(this::redraw);
  }

  /** Some more units are done. */
  void done(long units) {
    done.add(units);
  }

  /** Prints a line above the bar. */
  synchronized void note(String line) {
    out.println(terminal ? "\r" + line + "\u001b[K" : line);
  }

  private void redraw() {
    try {
      while (true) {
        Thread.sleep(terminal ? REDRAW : NEXT_LINE);
        draw();
      }
    } catch (InterruptedException e) {
      // This is how close() ends it.
    }
  }

  private synchronized void draw() {
    var elapsed = Duration.ofNanos(System.nanoTime() - start);
    var line = line(what, done.sum(), total, elapsed);
    if (terminal) {
      out.print("\r" + line + "\u001b[K");
      out.flush();
    } else {
      out.println(line);
    }
  }

  /** What is shown at a moment. */
  static String line(String what, long done, long total, Duration elapsed) {
    double share = total == 0 ? 1 : Math.min(1, (double) done / total);
    int filled = (int) (share * WIDTH);
    var left =
        share < 0.01 || share == 1
            ? ""
            : ", " + clock(elapsed.toSeconds() * (1 - share) / share) + " left";
    return String.format(
        Locale.ROOT,
        "%s %s%s %3d %%  %s%s",
        what,
        "█".repeat(filled),
        "░".repeat(WIDTH - filled),
        (int) (share * 100),
        clock((double) elapsed.toSeconds()),
        left);
  }

  private static String clock(double seconds) {
    long whole = Math.round(seconds);
    return String.format(Locale.ROOT, "%d:%02d", whole / 60, whole % 60);
  }

  /** Shows the last state and leaves it there. */
  @Override
  public void close() {
    drawer.interrupt();
    draw();
    if (terminal) {
      out.println();
    }
  }
}

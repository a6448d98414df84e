package dev.evergreen.bench;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;

/**
 * Tells how far a long measurement is, and how long it may still take. On a terminal it is a bar
 * that is drawn anew; elsewhere, as in a log, a line for each tenth. It goes to standard error, so
 * that the results can be read from standard output alone.
 */
final class Progress {
  private static final int WIDTH = 30;

  private final PrintStream out;
  private final boolean terminal;
  private final int steps;
  private final long begin = System.nanoTime();
  private int done;

  /**
   * @param steps how many there will be, of about the same length
   * @param terminal whether a line can be drawn anew
   */
  Progress(int steps, PrintStream out, boolean terminal) {
    if (steps < 1) {
      throw new IllegalArgumentException("expected at least one step, not " + steps);
    }
    this.steps = steps;
    this.out = out;
    this.terminal = terminal;
  }

  // The check says that there always is a console; JDK 25 gives null when there is none.
  @SuppressWarnings("SystemConsoleNull")
  static Progress of(int steps) {
    var console = System.console();
    return new Progress(steps, System.err, console != null && console.isTerminal());
  }

  /**
   * A step has ended.
   *
   * @param what was measured in it
   */
  void step(String what) {
    int before = done * 10 / steps;
    done = Math.min(steps, done + 1);
    if (terminal) {
      int filled = WIDTH * done / steps;
      var bar = "#".repeat(filled) + ".".repeat(WIDTH - filled);
      out.print("\r[" + bar + "] " + text(what) + "\033[K" + (done == steps ? "\n" : ""));
      out.flush();
    } else if (done * 10 / steps > before) {
      out.println(text(what));
    }
  }

  private String text(String what) {
    double each = (System.nanoTime() - begin) / (double) done;
    var left = Duration.ofNanos((long) (each * (steps - done)));
    var rest = done == steps ? "done" : "about " + told(left) + " left";
    return String.format(Locale.ROOT, "%3d %%, %s (%s)", 100L * done / steps, rest, what);
  }

  private static String told(Duration time) {
    return time.toSeconds() < 90 ? time.toSeconds() + " s" : (time.toSeconds() + 30) / 60 + " min";
  }
}

package dev.evergreen.server;

import java.io.PrintWriter;

/** What a command prints. */
final class Output {
  private Output() {}

  /**
   * Has it written what was printed, and says whether that was in vain: who reads it has gone, or
   * its disk is full.
   */
  static boolean isLost(PrintWriter out) {
    // The command line's writer writes to this stream, and asks it for no errors.
    return out.checkError() || System.out.checkError();
  }
}

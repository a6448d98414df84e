package dev.evergreen.http;

/**
 * What a peer may have sent for a stream before it knew that this side has reset it. That is no
 * more than the stream's window and its heads, and nothing behind its end.
 */
final class OnItsWay {
  /** Smaller frames than this are not for every part of a window. */
  private static final int SMALL = 64;

  private long window;
  private long frames;
  private int heads = 2;

  /**
   * All that can be.
   *
   * @param window how many bytes of data the peer was allowed to send yet
   */
  OnItsWay(long window) {
    this.window = window;
    frames = 2 + window / SMALL;
  }

  /** Nothing. */
  static OnItsWay nothing() {
    var nothing = new OnItsWay(0);
    nothing.end();
    return nothing;
  }

  /** Whether data that have come were among it. */
  boolean takeData(int flowed, boolean ends) {
    boolean taken = frames > 0 && flowed <= window;
    window -= flowed;
    frames--;
    if (ends) {
      end();
    }
    return taken;
  }

  /** Whether a head that has come, or trailers, were among it. */
  boolean takeHead(boolean ends) {
    boolean taken = heads > 0;
    heads--;
    if (ends) {
      end();
    }
    return taken;
  }

  private void end() {
    frames = 0;
    heads = 0;
  }
}

package dev.evergreen.http;

import java.time.Duration;

/**
 * Limits of what is taken from peers, on either side.
 *
 * @param firstLine of a request's or response's first line, in bytes (414 beyond)
 * @param fieldLine of one line of fields, in bytes (431 beyond)
 * @param fieldBytes of all lines of fields of a head, in bytes (431 beyond); trailers too
 * @param fieldCount how many lines of fields a head or trailers may have (431 beyond)
 * @param chunkLine of the line before a chunk, its extensions included, in bytes
 * @param drained how much of a request's body that nobody read is read and dropped, so that the
 *     connection can be used further; beyond it, it is closed
 * @param idle how long a connection may wait for its next request
 * @param head how long a head may take from its first byte to its last
 * @param read how long the sender of a body may pause
 * @param write how long a peer may take nothing of what is sent
 * @param lingering how long a connection that is closed after an error still takes what its peer
 *     sends, so that this gets the answer
 * @param streams how many requests of one connection of HTTP/2 are answered at a time
 */
public record HttpSettings(
    int firstLine,
    int fieldLine,
    int fieldBytes,
    int fieldCount,
    int chunkLine,
    int drained,
    Duration idle,
    Duration head,
    Duration read,
    Duration write,
    Duration lingering,
    int streams) {

  /** Sensible ones for a server in the internet. */
  public static final HttpSettings DEFAULT =
      new HttpSettings(
          8 << 10,
          16 << 10,
          32 << 10,
          100,
          256,
          256 << 10,
          Duration.ofSeconds(60),
          Duration.ofSeconds(30),
          Duration.ofSeconds(60),
          Duration.ofSeconds(60),
          Duration.ofSeconds(2),
          100);

  /** The greatest line that can be limited to: it must fit into a buffer. */
  private static final int LONGEST_LINE = 32 << 10;

  public HttpSettings {
    if (Math.max(firstLine, Math.max(fieldLine, chunkLine)) > LONGEST_LINE) {
      throw new IllegalArgumentException("no line can be longer than " + LONGEST_LINE + " bytes");
    }
    if (Math.min(Math.min(firstLine, fieldLine), Math.min(fieldBytes, chunkLine)) < 16
        || fieldCount < 1
        || drained < 0
        || streams < 1) {
      throw new IllegalArgumentException("a limit is too small");
    }
  }

  /** The same with other limits of lines and fields. */
  public HttpSettings withHeads(int firstLine, int fieldLine, int fieldBytes, int fieldCount) {
    return new HttpSettings(
        firstLine,
        fieldLine,
        fieldBytes,
        fieldCount,
        chunkLine,
        drained,
        idle,
        head,
        read,
        write,
        lingering,
        streams);
  }

  /** The same with other times for a next request, a head, and pauses of reading and writing. */
  public HttpSettings withTimes(Duration idle, Duration head, Duration read, Duration write) {
    return new HttpSettings(
        firstLine,
        fieldLine,
        fieldBytes,
        fieldCount,
        chunkLine,
        drained,
        idle,
        head,
        read,
        write,
        lingering,
        streams);
  }

  /** The same with another limit of what is dropped, and another time for it. */
  public HttpSettings withDrained(int drained, Duration lingering) {
    return new HttpSettings(
        firstLine,
        fieldLine,
        fieldBytes,
        fieldCount,
        chunkLine,
        drained,
        idle,
        head,
        read,
        write,
        lingering,
        streams);
  }

  /** The same with another number of streams. */
  public HttpSettings withStreams(int streams) {
    return new HttpSettings(
        firstLine,
        fieldLine,
        fieldBytes,
        fieldCount,
        chunkLine,
        drained,
        idle,
        head,
        read,
        write,
        lingering,
        streams);
  }
}

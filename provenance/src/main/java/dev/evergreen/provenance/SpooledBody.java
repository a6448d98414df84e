package dev.evergreen.provenance;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * A request or reply that is recorded in pieces as it passes. To be used by one thread at a time.
 * Beyond {@link Spool#LARGEST_BODY} only its length and hash are kept.
 */
public final class SpooledBody {
  private final Spool spool;
  private final MessageDigest hash = sha256();
  private final long number;
  private long length;

  SpooledBody(Spool spool, long number) {
    this.spool = spool;
    this.number = number;
  }

  /** The number of its first frame, which is that of the request if it is one. */
  public long number() {
    return number;
  }

  /** Records what a buffer has from its position to its limit, and leaves both as they are. */
  public void add(ByteBuffer bytes) {
    int from = bytes.position();
    while (from < bytes.limit()) {
      int n = Math.min(bytes.limit() - from, Spool.PIECE);
      if (length + n <= Spool.LARGEST_BODY) {
        spool.piece(number, bytes, from, n);
      }
      length += n;
      from += n;
    }
    hash.update(bytes.duplicate());
  }

  /**
   * Records that this was all.
   *
   * @return the number of the last frame: for a reply, that of its arrival
   */
  public long end() {
    return spool.bodyEnd(number, length, hash.digest(), (byte) 0);
  }

  /** Records that the rest never came. */
  public long cut() {
    return spool.bodyEnd(number, length, hash.digest(), SpoolSegment.MORE);
  }

  static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }
}

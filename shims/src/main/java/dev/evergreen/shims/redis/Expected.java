package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.shims.redis.Redaction.Told;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a client has asked of an {@link OwnUpstream}, and is to be replied to: requests of one kind.
 * Guarded by the upstream's lock.
 */
final class Expected {
  /** About so many bytes are kept of a request whose words are of no interest. */
  private static final int PLAIN = 100;

  final Verb verb;
  final long first;
  final int count;
  final Words words;
  final Told told;

  /** About how many bytes it keeps of the heap. */
  long bytes = PLAIN;

  /** The words of a script's call, if it is watched, and they are at hand. */
  @Nullable List<Bytes> call;

  /** If the reply is not to go to the client. */
  @Nullable Kept kept;

  int next;

  /** Of those that are replied to more than once. */
  long confirmed;

  long toConfirm;

  /** Requests whose numbers follow the first's, or, if that is negative, are the same. */
  Expected(Verb verb, long first, int count, Words words, Told told) {
    this.told = told;
    this.verb = verb;
    this.first = first;
    this.count = count;
    this.words = words;
    toConfirm = words.count() - 1L;
  }

  long number() {
    return first < 0 ? first : first + next;
  }

  /** Takes into account what it keeps of its requests, which have so many bytes together. */
  void weigh(long length) {
    if (!words.equals(Words.NONE) || !told.equals(Told.ALL) || call != null) {
      // As words, and as what the record was told.
      bytes += 2 * length;
    }
  }

  /** A reply that the client does not get. Guarded by the upstream's lock. */
  static final class Kept {
    private byte @Nullable [] bytes;

    /** What has come of it; null if nothing has. */
    byte @Nullable [] bytes() {
      return bytes;
    }

    void add(ByteBuffer from, int begin, int end) {
      int before = bytes == null ? 0 : bytes.length;
      var joined = new byte[before + end - begin];
      if (bytes != null) {
        System.arraycopy(bytes, 0, joined, 0, before);
      }
      from.get(begin, joined, before, end - begin);
      bytes = joined;
    }
  }
}

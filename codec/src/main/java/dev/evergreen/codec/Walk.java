package dev.evergreen.codec;

/**
 * One freezing in progress: how deep it is and how many bytes it has seen.
 *
 * <p>Bytes are estimates between half of the encoded size and a few times it; names and layouts are
 * counted where they are repeated, that is in keys, and once for the whole by {@link RootType}.
 */
final class Walk extends Nesting {
  private long bytes;

  Walk(Limits limits) {
    super(limits);
  }

  void count(long more) {
    bytes += more;
    if (bytes > limits.maxBytes()) {
      throw tooLarge(limits);
    }
  }

  long bytes() {
    return bytes;
  }
}

package dev.evergreen.shims.redis;

/** How much a connection has subscribed to, as Redis confirms it. */
final class Subscriptions {
  private long channels;
  private long patterns;
  private long shardChannels;

  boolean any() {
    return channels + patterns + shardChannels > 0;
  }

  /** How many there are of the kind that a confirmation speaks of. */
  long of(String confirmation) {
    return switch (confirmation.charAt(0)) {
      case 'p' -> patterns;
      case 's' ->
          confirmation.startsWith("ss") || confirmation.startsWith("sun")
              ? shardChannels
              : channels;
      default -> channels;
    };
  }

  /** A confirmation says how many there are now, of channels and patterns together. */
  void become(String confirmation, long all) {
    switch (confirmation) {
      case "subscribe", "unsubscribe" -> channels = Math.max(0, all - patterns);
      case "psubscribe", "punsubscribe" -> patterns = Math.max(0, all - channels);
      default -> shardChannels = all;
    }
  }

  void end() {
    channels = 0;
    patterns = 0;
    shardChannels = 0;
  }
}

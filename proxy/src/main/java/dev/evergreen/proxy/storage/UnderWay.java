package dev.evergreen.proxy.storage;

import java.util.concurrent.ConcurrentHashMap;

/**
 * Of which URIs responses are being asked for, or received, by the hashes of their keys. Any thread
 * may call.
 */
final class UnderWay {
  private final ConcurrentHashMap<Long, Integer> uris = new ConcurrentHashMap<>();

  void begin(long uri) {
    uris.merge(uri, 1, Integer::sum);
  }

  void end(long uri) {
    uris.computeIfPresent(uri, (_, number) -> number == 1 ? null : number - 1);
  }

  boolean has(long uri) {
    return uris.containsKey(uri);
  }
}

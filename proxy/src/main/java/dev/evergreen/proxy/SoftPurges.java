package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.proxy.storage.Purge;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.stream.Stream;

/**
 * When something was softly purged: since then it is stale. The storage knows of a response that
 * there was a purge about it, but not when. Any thread may call.
 */
final class SoftPurges {
  private final Moments moments = new Moments();

  /** Operators alone purge prefixes, so there are few. */
  private final Set<Integer> prefixLengths = new ConcurrentSkipListSet<>();

  /** To be called before the purge is in force. */
  void add(Purge purge, long now) {
    moments.put(name(purge), now);
    if (purge.kind() == Purge.Kind.PREFIX) {
      prefixLengths.add(Math.toIntExact(purge.bytes().byteSize()));
    }
  }

  /**
   * When the last soft purge was that is about a response; empty if that is not known any more, as
   * it was in another process, or too many others came after it.
   */
  OptionalLong last(String key, List<String> tags, long now) {
    var uri = Proxy.segment(key);
    var prefixes =
        prefixLengths.stream()
            .filter(length -> length <= uri.byteSize())
            .map(length -> Purge.prefix(uri.asSlice(0, length)));
    var others = Stream.concat(tags.stream().map(Purge::tag), prefixes);
    return Stream.concat(Stream.of(Purge.uri(uri)), others)
        .map(purge -> moments.after(name(purge), now))
        .flatMapToLong(OptionalLong::stream)
        .map(after -> now + after)
        .max();
  }

  private static String name(Purge purge) {
    return purge.kind() + " " + text(purge.bytes());
  }

  private static String text(MemorySegment bytes) {
    return new String(bytes.toArray(ValueLayout.JAVA_BYTE), ISO_8859_1);
  }
}

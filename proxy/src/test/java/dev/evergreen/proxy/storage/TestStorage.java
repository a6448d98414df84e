package dev.evergreen.proxy.storage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What the tests of the storage share: strings for keys, and bodies that prove themselves. */
final class TestStorage {
  private TestStorage() {}

  static MemorySegment key(String text) {
    return MemorySegment.ofArray(text.getBytes(ISO_8859_1));
  }

  /** Bytes that follow from the key, the version and the length, and say them at the beginning. */
  static byte[] body(String key, long version, int length) {
    var bytes = new byte[length];
    new SplittableRandom(key.hashCode() * 31L + version).nextBytes(bytes); // Others are slower.
    return bytes;
  }

  static byte[] head(String key, long version, int length) {
    return "%s %d %d".formatted(key, version, length).getBytes(ISO_8859_1);
  }

  static Entry entry(String key, long version, int length, long stamp) {
    return entry(key, "", version, length, stamp, List.of());
  }

  static Entry entry(
      String key, String variant, long version, int length, long stamp, List<String> tags) {
    return new Entry(
        key(key),
        variant.getBytes(ISO_8859_1),
        head(key + variant, version, length),
        tags,
        stamp,
        length);
  }

  static boolean put(Storage storage, String key, long version, int length) throws IOException {
    return put(storage, entry(key, version, length, storage.stamp()));
  }

  /** Stores what the entry's head says; false if it cannot be. */
  static boolean put(Storage storage, Entry entry) throws IOException {
    try (var appender = storage.append(entry)) {
      appender.append(ByteBuffer.wrap(bodyOf(entry.head())));
      return appender.commit();
    } catch (IncompleteException e) {
      return false;
    }
  }

  static byte[] bodyOf(byte[] head) {
    var words = new String(head, ISO_8859_1).split(" ", -1);
    return body(words[0], Long.parseLong(words[1]), Integer.parseInt(words[2]));
  }

  static @Nullable Lease find(Storage storage, String key) {
    return storage.find(key(key), variant -> true);
  }

  static @Nullable Lease find(Storage storage, String key, String variant) {
    return storage.find(key(key), stored -> new String(stored, ISO_8859_1).equals(variant));
  }

  /** The version that is found, 0 if none is; checks that it is whole and right. */
  static long version(Storage storage, String key) throws IOException {
    try (var lease = find(storage, key)) {
      return lease == null ? 0 : check(lease, key);
    }
  }

  static long version(Storage storage, String key, String variant) throws IOException {
    try (var lease = find(storage, key, variant)) {
      return lease == null ? 0 : check(lease, key + variant);
    }
  }

  /** Checks that the body is that of the head and the head that of the key; returns the version. */
  static long check(Lease lease, String key) throws IOException {
    var head = bytes(lease.head());
    var words = new String(head, ISO_8859_1).split(" ", -1);
    assertEquals(key, words[0], "the key in the head");
    var expected = bodyOf(head);
    var body = read(lease);
    assertEquals(expected.length, body.length, "length");
    assertEquals(-1, Arrays.mismatch(expected, body), "first wrong byte");
    return Long.parseLong(words[1]);
  }

  /** Checks by a thread of its own, and closes. */
  static CompletableFuture<Long> reader(Lease lease, String key) {
    var result = new CompletableFuture<Long>();
    Thread.startVirtualThread(
        () -> {
          try (lease) {
            result.complete(check(lease, key));
          } catch (Throwable e) {
            result.completeExceptionally(e);
          }
        });
    return result;
  }

  static byte[] bytes(ByteBuffer buffer) {
    var bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  static byte[] read(Lease lease) throws IOException {
    var all = new ByteArrayOutputStream();
    while (true) {
      var pieces = lease.read(all.size(), Long.MAX_VALUE);
      if (pieces.length == 0) {
        return all.toByteArray();
      }
      for (var piece : pieces) {
        all.writeBytes(bytes(piece));
      }
    }
  }
}

package dev.evergreen.live;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of all results that are held, equal ones once. Guarded by the lock of {@link
 * LiveResults}.
 */
final class Held {

  private static final class Entry {
    private final Present present;
    private int uses;
    private @Nullable Shorter shorter;

    Entry(Present present) {
      this.present = present;
    }

    int bytes() {
      return present.length() + (shorter == null ? 0 : Shorter.most(present));
    }
  }

  /** The shorter form of a result, made by whoever needs it first. */
  static final class Shorter {
    private final Rendering rendering;
    private @Nullable Present from;
    private byte @Nullable [] bytes;

    Shorter(Present from, Rendering rendering) {
      this.from = from;
      this.rendering = rendering;
    }

    static int most(Present present) {
      return present.length() / 2;
    }

    /** Null if it is not worth it. To be called without that lock. */
    synchronized byte @Nullable [] bytes() {
      if (from != null) {
        bytes = rendering.shorter(from);
        from = null;
      }
      return bytes;
    }
  }

  private final Rendering rendering;
  private final Map<String, Entry> byTag = new HashMap<>();
  private long bytes;

  Held(Rendering rendering) {
    this.rendering = rendering;
  }

  /** Holds a result; gives it in the bytes that all equal ones share. */
  Present add(Present present) {
    var entry = byTag.get(present.tag());
    if (entry == null) {
      entry = new Entry(present);
      byTag.put(present.tag(), entry);
      bytes += present.length();
    }
    entry.uses++;
    return present.inBytesOf(entry.present);
  }

  void remove(Present present) {
    var entry = byTag.get(present.tag());
    if (entry != null && --entry.uses == 0) {
      byTag.remove(present.tag());
      bytes -= entry.bytes();
    }
  }

  /**
   * Whether at least so many bytes fewer would be held without these, with what is held beside
   * them. Where the first of them are enough, as when one takes another one's place, the others are
   * not looked at.
   */
  boolean frees(Iterable<LiveResult> results, long wanted) {
    var uses = new HashMap<String, Integer>();
    long sum = 0;
    for (var each = results.iterator(); sum < wanted && each.hasNext(); ) {
      var result = each.next();
      sum += result.bytesBeside;
      var present = result.held;
      var entry = present == null ? null : byTag.get(present.tag());
      if (entry != null && uses.merge(entry.present.tag(), 1, Integer::sum) == entry.uses) {
        sum += entry.bytes();
      }
    }
    return sum >= wanted;
  }

  /**
   * The shorter form of a result, for all who need it; null if that is not held, or if there is no
   * room for it among {@code most} bytes. Whether it is made or not, it counts as long as it may
   * be.
   */
  @Nullable Shorter shorter(Present present, long most) {
    var entry = byTag.get(present.tag());
    if (entry == null || !entry.present.sharesBytesWith(present)) {
      return null;
    }
    if (entry.shorter == null && bytes + Shorter.most(present) <= most) {
      entry.shorter = new Shorter(present, rendering);
      bytes += Shorter.most(present);
    }
    return entry.shorter;
  }

  /** Counts what is held beside results; negative when it is no more. */
  void count(int more) {
    bytes += more;
  }

  long bytes() {
    return bytes;
  }
}

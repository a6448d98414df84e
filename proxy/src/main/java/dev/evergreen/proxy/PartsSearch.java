package dev.evergreen.proxy;

import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.Selector;
import dev.evergreen.proxy.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Looks for stored parts of a response that a request may have. The list of what is stored tells
 * already which part each is, so that only what is of use is looked up.
 */
final class PartsSearch {

  /** Of more parts than these none is held that is not read. */
  private static final int FEW = 4;

  /** One that is on the list. */
  private record Listed(byte[] variant, ContentRange part) {}

  private static final Comparator<Listed> FORWARDS =
      Comparator.comparingLong(each -> each.part().range().last());

  private static final Comparator<Listed> BACKWARDS =
      Comparator.comparingLong(each -> -each.part().range().first());

  private final Storage storage;
  private final MemorySegment place;
  private final Variants variants;
  private final Recipient recipient;

  /** What may be there, that asked for last first. */
  private final List<Listed> listed = new ArrayList<>();

  /** Those that were found to be joined with the newest. */
  private final Map<Listed, StoredPart> others = new LinkedHashMap<>();

  PartsSearch(Storage storage, MemorySegment place, Variants variants, Recipient recipient) {
    this.storage = storage;
    this.place = place;
    this.variants = variants;
    this.recipient = recipient;
    var _ = storage.findAll(place, 1, this::list, recipient);
  }

  /** It takes none, and so sees all of them. */
  private boolean list(byte[] variant) {
    var part = Parts.range(variant);
    if (variants.takes(Parts.variant(variant)) && part.isPresent()) {
      listed.add(new Listed(variant, part.get()));
    }
    return false;
  }

  /** By what the one asked for last varies; null if there is none. */
  @Nullable Vary vary() {
    return variants.seen();
  }

  /** What was found beside the newest; to be closed by its caller. */
  List<StoredPart> others() {
    return List.copyOf(others.values());
  }

  /**
   * That which was asked for last, as a whole response would be found that was stored in the place
   * of another; null if there is none. If that was evicted, nobody knows whether the others are of
   * the same: so they are of no use, until what is asked for next says that they are.
   */
  @Nullable Found newest() {
    return listed.isEmpty() ? null : lookUp(listed.getFirst());
  }

  /** Finds what of a range is there, from its beginning on and back from its end. */
  void cover(ByteRange range, Found newest) throws IOException {
    long from = range.first();
    var next = at(from, FORWARDS, newest);
    while (next != null && next.last() < range.last()) {
      from = next.last() + 1;
      next = at(from, FORWARDS, newest);
    }
    if (next != null) {
      return; // All of it is there.
    }
    long to = range.last();
    next = at(to, BACKWARDS, newest);
    while (next != null) {
      to = next.first() - 1; // It does not pass the first byte that is in none of them.
      next = at(to, BACKWARDS, newest);
    }
  }

  /** The furthest of those with that position that can be joined with the newest. */
  private @Nullable ByteRange at(long position, Comparator<Listed> further, Found newest)
      throws IOException {
    while (true) {
      var best =
          listed.stream()
              .filter(each -> each.part().complete() == newest.range().complete())
              .filter(each -> each.part().range().contains(position))
              .max(further)
              .orElse(null);
      if (best == null) {
        return null;
      }
      boolean isNewest = best.part().equals(newest.range());
      if (isNewest || others.containsKey(best) || joins(best, newest)) {
        return best.part().range();
      }
      listed.remove(best);
    }
  }

  /** Looks for one, which is found only if it can be joined with the newest. */
  private boolean joins(Listed one, Found newest) throws IOException {
    var found = lookUp(one);
    if (found == null) {
      return false;
    }
    var part = new StoredPart(storage, place, found, newest.head().fields(), recipient);
    others.put(one, part);
    boolean joined = Parts.areOfOne(found.head().fields(), newest.head().fields());
    if (!joined) {
      others.remove(one);
    }
    if (!joined || others.size() > FEW) {
      part.leave();
    }
    return joined;
  }

  private @Nullable Found lookUp(Listed one) {
    Selector itself = each -> Arrays.equals(each, one.variant());
    for (var lease : storage.findAll(place, 1, itself, recipient)) {
      return Found.of(lease, one.part());
    }
    return null;
  }
}

package dev.evergreen.web;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntFunction;

/**
 * The result of a view that is read page by page: {@code useLivePages} of {@code @evergreen/client}
 * watches as many as people have asked for. A cursor names an item rather than a number of items,
 * so that what comes in before it moves nothing from one page to the next.
 *
 * @param items of this page
 * @param next the cursor of the next page, to be given to the view as a parameter; empty on the
 *     last
 */
public record Page<T>(List<T> items, Optional<String> next) {

  /** Keeps a copy of the items. */
  public Page {
    items = List.copyOf(items);
  }

  /**
   * The first of these items, which are all from a cursor on, or one more than the page may hold.
   *
   * @param most how many items the page may hold
   * @param cursor by which the view finds the items behind this one
   */
  public static <T> Page<T> of(List<T> items, int most, Function<? super T, String> cursor) {
    if (items.size() <= most) {
      return new Page<>(items, Optional.empty());
    }
    var page = items.subList(0, most);
    return new Page<>(page, Optional.of(cursor.apply(page.getLast())));
  }

  /**
   * A page that ends with the item of this cursor, as long as that makes no more than two pages: so
   * what comes in before that changes this page only, and the one behind it stays what it is. It is
   * as long as others if there is no cursor, or no item of it among so many.
   *
   * @param until the cursor of the last item, as the page told it before as its {@code next}
   * @param most how many items a page holds otherwise
   * @param cursor by which the view finds the items behind this one
   * @param first finds the first items, as many as it is given
   */
  public static <T> Page<T> upTo(
      Optional<String> until,
      int most,
      Function<? super T, String> cursor,
      IntFunction<? extends List<T>> first) {
    if (until.isEmpty()) {
      return of(first.apply(most + 1), most, cursor);
    }
    var items = first.apply(2 * most + 1);
    for (int end = 1; end <= Math.min(items.size(), 2 * most); end++) {
      if (cursor.apply(items.get(end - 1)).equals(until.get())) {
        var page = items.subList(0, end);
        return new Page<>(page, end < items.size() ? until : Optional.empty());
      }
    }
    return of(items, most, cursor);
  }
}

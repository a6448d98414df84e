package dev.evergreen.web;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;

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
}

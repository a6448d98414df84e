package dev.evergreen.core.work;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A list whose elements are its links, in the order of their arrival: neither to add nor to remove
 * one looks for anything or makes an object. An element is in one chain at most. Not for several
 * threads at once.
 */
public final class Chain<T extends Chain.Link<T>> {

  /** What can be in a chain; its fields belong to the chain that it is in. */
  public abstract static class Link<T> {
    @Nullable T previous;
    @Nullable T next;
    boolean linked;
  }

  private @Nullable T first;
  private @Nullable T last;

  public boolean isEmpty() {
    return first == null;
  }

  public @Nullable T first() {
    return first;
  }

  /** The one behind a link; null if it is the last. */
  public @Nullable T after(T link) {
    return link.next;
  }

  /** Adds at the end; returns false if it is in a chain already. */
  public boolean add(T link) {
    if (link.linked) {
      return false;
    }
    link.linked = true;
    link.previous = last;
    if (last == null) {
      first = link;
    } else {
      last.next = link;
    }
    last = link;
    return true;
  }

  /** Adds behind all that are not greater; from the end, where those belong that come in order. */
  public void addSorted(T link, Comparator<? super T> order) {
    var before = last;
    while (before != null && order.compare(before, link) > 0) {
      before = before.previous;
    }
    if (before == last) {
      add(link);
      return;
    }
    link.linked = true;
    var after = before == null ? first : before.next;
    link.previous = before;
    link.next = after;
    if (before == null) {
      first = link;
    } else {
      before.next = link;
    }
    if (after != null) {
      after.previous = link;
    }
  }

  /** Removes what is in this chain; returns false if it is in none. */
  public boolean remove(T link) {
    if (!link.linked) {
      return false;
    }
    var before = link.previous;
    var after = link.next;
    if (before == null) {
      first = after;
    } else {
      before.next = after;
    }
    if (after == null) {
      last = before;
    } else {
      after.previous = before;
    }
    link.previous = null;
    link.next = null;
    link.linked = false;
    return true;
  }

  /** Removes and returns the first; null if there is none. */
  public @Nullable T poll() {
    var link = first;
    if (link != null) {
      remove(link);
    }
    return link;
  }

  /** Removes and returns all. */
  public List<T> drain() {
    var list = toList();
    list.forEach(this::remove);
    return list;
  }

  /** Calls {@code action} with each, which may remove that one. */
  public void forEach(Consumer<? super T> action) {
    for (var link = first; link != null; ) {
      var following = link.next;
      action.accept(link);
      link = following;
    }
  }

  public List<T> toList() {
    if (first == last) {
      return first == null ? List.of() : List.of(first);
    }
    var list = new ArrayList<T>();
    forEach(list::add);
    return list;
  }
}

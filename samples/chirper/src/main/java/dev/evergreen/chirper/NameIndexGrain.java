package dev.evergreen.chirper;

import static java.util.stream.Collectors.groupingBy;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.State;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;

/**
 * A page of a set of names: a node of a trie.
 *
 * <p>A page holds its names itself until there are more than {@link #MOST}; then it hands them to
 * pages below, by the letter that follows the prefix, and keeps only how many each has. So a state
 * stays small however large the set is, and a change rewrites one page and the counts above it.
 *
 * <p>A page below answers every change with its size. So a change that failed half-way leaves
 * counts wrong at worst, and repeating it sets them right. Names are handed down with {@link
 * #fill}, which also clears what an earlier attempt left there.
 */
final class NameIndexGrain implements NameIndex {

  /** The most names that a page holds itself. */
  static final int MOST = 500;

  private final Key key;
  private final Grains grains;
  private final State<Page> page;

  NameIndexGrain(GrainContext<Key> context) {
    key = context.key();
    grains = context.grains();
    page = context.state(Page.class, new Page(List.of(), Map.of()));
  }

  @Override
  public int size() {
    return page.get().size();
  }

  @Override
  public boolean contains(String name) {
    return endsHere(name)
        ? page.get().names().contains(name)
        : page.get().below().containsKey(next(name)) && below(next(name)).contains(name);
  }

  @Override
  public List<String> find(String prefix, String behind, int most) {
    var found = new ArrayList<String>();
    page.get().names().stream()
        .filter(name -> name.startsWith(prefix) && name.compareTo(behind) > 0)
        .limit(most)
        .forEach(found::add);
    var letters =
        prefix.length() > key.prefix().length() ? List.of(next(prefix)) : page.get().letters();
    for (var letter : letters) {
      if (found.size() < most
          && page.get().below().containsKey(letter)
          && reaches(letter, behind)) {
        found.addAll(below(letter).find(prefix, behind, most - found.size()));
      }
    }
    return found;
  }

  /** Whether there may be names behind that one on the page below. */
  private boolean reaches(String letter, String behind) {
    var begin = key.prefix() + letter;
    return begin.compareTo(behind) > 0 || behind.startsWith(begin);
  }

  @Override
  public int add(List<String> names) {
    var all = new TreeSet<>(page.get().names());
    if (page.get().below().isEmpty()) {
      all.addAll(names);
      return fill(List.copyOf(all));
    }
    names.stream().filter(this::endsHere).forEach(all::add);
    return hold(all, inEachBelow(names, NameIndex::add));
  }

  @Override
  public int remove(String name) {
    if (endsHere(name)) {
      var left = page.get().names().stream().filter(n -> !n.equals(name)).toList();
      return hold(left, Map.of());
    }
    return page.get().below().containsKey(next(name))
        ? hold(page.get().names(), Map.of(next(name), below(next(name)).remove(name)))
        : size();
  }

  @Override
  public int fill(List<String> names) {
    page.set(new Page(List.of(), Map.of()));
    return names.size() <= MOST
        ? hold(new TreeSet<>(names), Map.of())
        : hold(names.stream().filter(this::isPrefix).toList(), inEachBelow(names, NameIndex::fill));
  }

  /** Sets the names held here and the sizes of some pages below. */
  private int hold(Collection<String> names, Map<String, Integer> sizes) {
    var below = new TreeMap<>(page.get().below());
    below.putAll(sizes);
    page.set(new Page(List.copyOf(names), below));
    return size();
  }

  private Map<String, Integer> inEachBelow(
      List<String> names, BiFunction<NameIndex, List<String>, Integer> change) {
    var byLetter = names.stream().filter(name -> !isPrefix(name)).collect(groupingBy(this::next));
    var sizes = new TreeMap<String, Integer>();
    // Branches of a turn take turns themselves, so the map needs no lock.
    Parallel.forEach(
        byLetter.entrySet(),
        part -> sizes.put(part.getKey(), change.apply(below(part.getKey()), part.getValue())));
    return sizes;
  }

  private boolean endsHere(String name) {
    return page.get().below().isEmpty() || isPrefix(name);
  }

  private boolean isPrefix(String name) {
    return name.equals(key.prefix());
  }

  private String next(String name) {
    int length = key.prefix().length();
    return name.substring(length, length + 1);
  }

  private NameIndex below(String letter) {
    return grains.get(NameIndex.class, new Key(key.set(), key.prefix() + letter));
  }

  /**
   * The state of a page.
   *
   * @param names the names held here, in the order of the alphabet; with pages below it is at most
   *     the one that is the prefix itself
   * @param below the letters that go on below, each with how many names that page has
   */
  record Page(List<String> names, Map<String, Integer> below) {

    int size() {
      return names.size() + below.values().stream().mapToInt(Integer::intValue).sum();
    }

    List<String> letters() {
      return below.keySet().stream().sorted().toList();
    }
  }
}

package dev.evergreen.core.engine;

import static java.util.stream.Collectors.toSet;

import dev.evergreen.core.model.Graph;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.SummaryKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * How a verdict on a circle reads the lists that it rests on. All lists of a circle change while
 * its members learn of it one after the other: what was read becomes endlessly deep, and what runs
 * under way have read becomes what accepted ones have. If each change were another list for each
 * verdict, the members would be judged as often as there are members, for each of them.
 *
 * <p>Of a list counts what is followed from there. A verdict that there is no circle cannot change
 * by what is followed no more; but what is read no more may be gone, and nobody would hear of its
 * list again. How deep something is does not matter where its own list is evidence, too; unless
 * nothing is known of it again, as then also its runs under way count. Of what is no evidence the
 * depth is all that tells that it may have become a member.
 *
 * <p>Which runs under way count is as it was when the verdict was made. So what had been accepted
 * and is tentative now is another read, and a list that has both kinds, where both count, is
 * another list: what was read before and what is read now make no circle together.
 *
 * @param follows the reads that are followed, as far as they count
 * @param tentative whether those of runs under way count in this list
 * @param circle whether the verdict is that there is one, of which all members are to be named
 * @param seen what lists call those whose own lists are evidence, too
 */
record Evidence(
    Predicate<Graph.Read> follows, boolean tentative, boolean circle, Set<SummaryKey> seen)
    implements Cache.Reading {

  /** Whether a read is followed. */
  static boolean counts(Graph.Read read, Predicate<Graph.Read> follows, boolean tentative) {
    return follows.test(read) && (tentative || !read.tentative());
  }

  /** Whether a list has what accepted runs have read and what others have. */
  static boolean isMixed(List<Graph.Read> list) {
    return list.stream().map(Graph.Read::tentative).distinct().count() > 1;
  }

  @Override
  public boolean same(Outcome before, Outcome now) {
    return before instanceof Outcome.Returned
        && now instanceof Outcome.Returned
        && same(Graph.Names.list(before), Graph.Names.list(now));
  }

  private boolean same(List<Graph.Read> before, List<Graph.Read> now) {
    var was = followed(before);
    var is = followed(now);
    boolean sameReads =
        was.keySet().containsAll(is.keySet())
            && (circle
                ? is.size() == was.size() && Objects.equals(name(before), name(now))
                : seenIn(now).containsAll(seenIn(before)));
    return sameReads
        && !(tentative && isMixed(now))
        && is.values().stream().allMatch(read -> same(was.get(read.summary()), read));
  }

  private boolean same(Graph.@Nullable Read before, Graph.Read now) {
    return before != null
        && (before.tentative() || !now.tentative())
        && (before.depth() == now.depth() || (now.depth() != 0 && seen.contains(now.summary())));
  }

  /** What is evidence because of this list, or may be. */
  private Set<SummaryKey> seenIn(List<Graph.Read> list) {
    return list.stream()
        .filter(read -> counts(read, any -> true, tentative))
        .map(Graph.Read::summary)
        .filter(seen::contains)
        .collect(toSet());
  }

  private Map<SummaryKey, Graph.Read> followed(List<Graph.Read> list) {
    var followed = HashMap.<SummaryKey, Graph.Read>newHashMap(list.size());
    for (var read : list) {
      if (counts(read, follows, tentative)) {
        followed.put(read.summary(), read);
      }
    }
    return followed;
  }

  /** What the one whose list it is calls itself. */
  private static @Nullable SummaryKey name(List<Graph.Read> list) {
    return list.isEmpty() ? null : list.getFirst().reader();
  }
}

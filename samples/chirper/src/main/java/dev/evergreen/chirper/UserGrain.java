package dev.evergreen.chirper;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toSet;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.State;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A person.
 *
 * <p>The state is saved whole after every change, so it has to stay small. It keeps the newest
 * posts, at most {@code 2 * KEPT}; when there are more, all but {@link #KEPT} of them move to the
 * {@link Archive} of their month. The archive is written before the state that no longer has them,
 * and writing it twice changes nothing; so a failure in between loses nothing, and the next post
 * tries again.
 *
 * <p>Who follows whom is kept on both sides: the follower's state has the truth, and the followed
 * user's {@link NameIndex} of followers can be looked up from there. The index is written first and
 * the state last, when the operation ends. If that fails in between, the index is wrong until the
 * follower repeats the operation, which is what a person told "try again" does.
 */
public final class UserGrain implements User {

  /** How many posts stay in the state when older ones are archived. */
  static final int KEPT = 100;

  private final String name;
  private final Grains grains;
  private final State<Account> account;

  /** Made by the runtime, for one activation. */
  public UserGrain(GrainContext<String> context) {
    name = context.key();
    grains = context.grains();
    account = context.state(Account.class, Account.EMPTY);
  }

  @Override
  public List<Chirp> messages(int newest) {
    return messagesBehind(Chirp.Place.FIRST, newest);
  }

  @Override
  public List<Chirp> timeline(int newest) {
    return timelineBehind(Chirp.Place.FIRST, newest);
  }

  @Override
  public List<Chirp> messagesBehind(Chirp.Place place, int most) {
    var found = new ArrayList<>(account.get().recent(place, most));
    var months = account.get().monthsFrom(Archive.month(place.at())).iterator();
    while (found.size() < most && months.hasNext()) {
      found.addAll(archive(months.next()).messagesBehind(place, most - found.size()));
    }
    return found;
  }

  @Override
  public List<Chirp> timelineBehind(Chirp.Place place, int most) {
    var lists = new ArrayList<List<Chirp>>();
    lists.add(messagesBehind(place, most));
    lists.addAll(
        Parallel.map(
            account.get().follows(),
            user -> grains.get(User.class, user).messagesBehind(place, most)));
    return Chirp.newest(most, lists);
  }

  @Override
  public void post(Instant at, String text) {
    keep(List.of(new Chirp(name, at, Chirp.checkedText(text))));
  }

  @Override
  public void postFrom(Instant earliest, String text) {
    var now = account.get();
    var taken = now.recent().stream().map(Chirp::at).collect(toSet());
    var at = earliest;
    while (taken.contains(at) || !at.isAfter(now.archivedUntil())) {
      var next = now.archivedUntil().isAfter(at) ? now.archivedUntil() : at;
      at = next.truncatedTo(ChronoUnit.MILLIS).plusMillis(1);
    }
    post(at, text);
  }

  @Override
  public void unpost(Instant at) {
    var before = account.get();
    var month = Archive.month(at);
    if (at.isAfter(before.archivedUntil())) {
      account.set(before.without(at));
    } else if (before.archived().containsKey(month)) {
      account.set(before.archived(Map.of(month, archive(month).remove(at))));
    }
  }

  @Override
  public void follow(String user) {
    if (user.equals(name)) {
      throw new RefusedException("You see your own posts anyway; there is no need to follow you.");
    }
    if (account.get().follows().size() >= MOST_FOLLOWED) {
      throw new RefusedException("You can follow %,d people at most.".formatted(MOST_FOLLOWED));
    }
    if (!NameIndex.people(grains).contains(user)) {
      throw new RefusedException("There is nobody called “%s”.".formatted(user));
    }
    NameIndex.followersOf(user, grains).add(List.of(name));
    account.update(before -> before.following(List.of(user)));
  }

  @Override
  public void unfollow(String user) {
    NameIndex.followersOf(user, grains).remove(name);
    account.update(before -> before.notFollowing(user));
  }

  @Override
  public void load(List<Chirp> posts, List<String> follows) {
    keep(posts);
    account.update(before -> before.following(follows));
  }

  @Override
  public Profile profile() {
    var now = account.get();
    return new Profile(
        now.posts(), now.follows().size(), NameIndex.followersOf(name, grains).size());
  }

  @Override
  public List<String> follows(String behind, int most) {
    return account.get().follows().stream()
        .filter(name -> name.compareTo(behind) > 0)
        .sorted()
        .limit(most)
        .toList();
  }

  @Override
  public Set<String> followsAmong(List<String> people) {
    var among = new HashSet<>(people);
    among.retainAll(account.get().follows());
    return among;
  }

  /** Adds posts to the recent ones and archives what is too old or too many. */
  private void keep(List<Chirp> posts) {
    var before = account.get();
    var recent = new TreeMap<Instant, Chirp>(Comparator.reverseOrder());
    before.recent().forEach(chirp -> recent.put(chirp.at(), chirp));
    posts.forEach(chirp -> recent.put(chirp.at(), chirp));
    var until = before.archivedUntil();
    if (recent.size() > 2 * KEPT) {
      var newestToArchive = recent.keySet().stream().skip(KEPT).findFirst().orElseThrow();
      until = newestToArchive.isAfter(until) ? newestToArchive : until;
    }
    var sizes = archive(new ArrayList<>(recent.tailMap(until, true).values()));
    account.set(
        before.recent(List.copyOf(recent.headMap(until, false).values()), until).archived(sizes));
  }

  private Map<String, Integer> archive(List<Chirp> chirps) {
    var sizes = new TreeMap<String, Integer>();
    var byMonth = chirps.stream().collect(groupingBy(chirp -> Archive.month(chirp.at())));
    // Branches of a turn take turns themselves, so the map needs no lock.
    Parallel.forEach(
        byMonth.entrySet(),
        month -> sizes.put(month.getKey(), archive(month.getKey()).add(month.getValue())));
    return sizes;
  }

  private Archive archive(String month) {
    return grains.get(Archive.class, new Archive.Key(name, month));
  }

  /**
   * The state of a user.
   *
   * @param recent the newest posts, newest first
   * @param archivedUntil posts of this time and earlier ones are in the archives, later ones here
   * @param archived how many posts there are in the archive of each month
   * @param follows whom this user follows
   */
  record Account(
      List<Chirp> recent,
      Instant archivedUntil,
      Map<String, Integer> archived,
      Set<String> follows) {

    static final Account EMPTY = new Account(List.of(), Instant.EPOCH, Map.of(), Set.of());

    List<Chirp> recent(Chirp.Place behind, int most) {
      return recent.stream().filter(behind::isBefore).limit(most).toList();
    }

    /** This month and older ones, newest first. */
    List<String> monthsFrom(String newest) {
      return archived.keySet().stream()
          .filter(month -> month.compareTo(newest) <= 0)
          .sorted(Comparator.reverseOrder())
          .toList();
    }

    int posts() {
      return recent.size() + archived.values().stream().mapToInt(Integer::intValue).sum();
    }

    Account recent(List<Chirp> chirps, Instant until) {
      return new Account(chirps, until, archived, follows);
    }

    Account without(Instant at) {
      return recent(recent.stream().filter(c -> !c.at().equals(at)).toList(), archivedUntil);
    }

    Account archived(Map<String, Integer> sizes) {
      var all = new TreeMap<>(archived);
      all.putAll(sizes);
      return new Account(recent, archivedUntil, all, follows);
    }

    Account following(List<String> users) {
      var more = new TreeSet<>(follows);
      more.addAll(users);
      return new Account(recent, archivedUntil, archived, more);
    }

    Account notFollowing(String user) {
      var fewer = new TreeSet<>(follows);
      fewer.remove(user);
      return new Account(recent, archivedUntil, archived, fewer);
    }
  }
}

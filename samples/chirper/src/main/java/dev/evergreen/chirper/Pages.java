package dev.evergreen.chirper;

import static dev.evergreen.web.Authorisation.everyone;
import static dev.evergreen.web.Authorisation.signedIn;

import dev.evergreen.core.Computation;
import dev.evergreen.core.Grains;
import dev.evergreen.web.Caller;
import dev.evergreen.web.CommandHandler;
import dev.evergreen.web.FirstResult;
import dev.evergreen.web.LiveView;
import dev.evergreen.web.Page;
import dev.evergreen.web.Reply;
import dev.evergreen.web.Request;
import dev.evergreen.web.ResultType;
import dev.evergreen.web.SignedSessions;
import dev.evergreen.web.WebException;
import dev.evergreen.web.WebServer;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * What Chirper's page sees and does. A view is a plain read of grains; nothing here says how it is
 * kept true.
 */
final class Pages {

  /** How far ahead the clock of a page may be; pages set theirs by {@code /session}. */
  private static final Duration CLOCK_SKEW = Duration.ofMinutes(5);

  /** How long after it was written a post may still be sent: a page may have been offline. */
  private static final Duration OFFLINE = Duration.ofDays(1);

  /** So many posts are on a page. */
  static final int MOST_POSTS = 50;

  /** So many people are on a page. */
  static final int MOST_PEOPLE = 30;

  /**
   * What the page shows at first to who has signed in; others may not see it, and it is left out.
   */
  static final List<FirstResult> FIRST =
      List.of(new FirstResult("timeline", new Behind(Optional.empty(), Optional.empty())));

  private static final ResultType<Page<Chirp>> CHIRPS = new ResultType<>() {};
  private static final ResultType<Person> PERSON = new ResultType<>() {};
  private static final ResultType<Boolean> YES_OR_NO = new ResultType<>() {};
  private static final ResultType<Page<Marked>> NAMES = new ResultType<>() {};
  private static final ResultType<Named> NAME = new ResultType<>() {};

  private final Grains grains;
  private final SignedSessions sessions;
  private final List<Integer> ports;

  /**
   * Pages over these grains.
   *
   * @param ports of the pages of all nodes, if there are several
   */
  Pages(Grains grains, SignedSessions sessions, List<Integer> ports) {
    this.grains = grains;
    this.sessions = sessions;
    this.ports = List.copyOf(ports);
  }

  /** Declares the views and commands. */
  void addTo(WebServer.Builder server) {
    server
        .authenticator(sessions)
        .view(LiveView.perCaller("timeline", Behind.class, CHIRPS, signedIn(), this::timeline))
        .view(LiveView.of("profile", Named.class, PERSON, everyone(), this::profile))
        .view(LiveView.of("posts", Posts.class, CHIRPS, everyone(), this::posts))
        .view(LiveView.perCaller("following", Named.class, YES_OR_NO, signedIn(), this::following))
        .view(LiveView.perCaller("follows", Listed.class, NAMES, everyone(), this::follows))
        .view(LiveView.perCaller("followers", Listed.class, NAMES, everyone(), this::followers))
        .view(LiveView.perCaller("people", Search.class, NAMES, everyone(), this::people))
        .commandWithResult("sign-in", Named.class, NAME, everyone(), this::signIn)
        .command("post", Post.class, signedIn(), refusing(this::post))
        .command("unpost", Unpost.class, signedIn(), refusing(this::unpost))
        .command("follow", Named.class, signedIn(), refusing(this::follow))
        .command("unfollow", Named.class, signedIn(), refusing(this::unfollow))
        .route("POST", "/sign-out", sessions::signOut)
        .route("GET", "/session", this::session);
  }

  private Computation<Page<Chirp>> timeline(Caller caller, Behind behind) {
    var place = place(behind.behind());
    return () -> page(behind.until(), most -> me(caller).timelineBehind(place, most));
  }

  private Computation<Person> profile(Named person) {
    var name = name(person.name());
    return () -> new Person(NameIndex.people(grains).contains(name), user(name).profile());
  }

  // snippet page
  private Computation<Page<Chirp>> posts(Posts of) {
    var name = name(of.name());
    var place = place(of.behind());
    return () -> page(of.until(), most -> user(name).messagesBehind(place, most));
  }

  private static Page<Chirp> page(Optional<String> until, IntFunction<List<Chirp>> first) {
    return Page.upTo(until, MOST_POSTS, chirp -> chirp.place().cursor(), first);
  }

  // end

  private static Chirp.Place place(Optional<String> cursor) {
    return cursor.map(Pages::place).orElse(Chirp.Place.FIRST);
  }

  private Computation<Boolean> following(Caller caller, Named other) {
    var name = name(other.name());
    return () -> !me(caller).followsAmong(List.of(name)).isEmpty();
  }

  private Computation<Page<Marked>> follows(Caller caller, Listed person) {
    var name = name(person.name());
    var behind = person.behind().orElse("");
    return () -> marked(caller, user(name).follows(behind, MOST_PEOPLE + 1));
  }

  private Computation<Page<Marked>> followers(Caller caller, Listed person) {
    var followers = NameIndex.followersOf(name(person.name()), grains);
    var behind = person.behind().orElse("");
    return () -> marked(caller, followers.find("", behind, MOST_PEOPLE + 1));
  }

  private Computation<Page<Marked>> people(Caller caller, Search search) {
    var prefix = search.prefix().isBlank() ? "" : name(search.prefix());
    var behind = search.behind().orElse("");
    return () -> marked(caller, NameIndex.people(grains).find(prefix, behind, MOST_PEOPLE + 1));
  }

  /** Names, each with whether the caller follows it. */
  private Page<Marked> marked(Caller caller, List<String> names) {
    var followed = caller.signedIn() ? me(caller).followsAmong(names) : List.<String>of();
    var marked = names.stream().map(name -> new Marked(name, followed.contains(name))).toList();
    return Page.of(marked, MOST_PEOPLE, Marked::name);
  }

  private Reply signIn(Caller nobodyYet, Named person) {
    var name = name(person.name());
    NameIndex.people(grains).add(List.of(name));
    return sessions.signIn(name);
  }

  private void post(Caller caller, Post post) {
    var now = Instant.now();
    var at = post.at().orElse(now);
    if (at.isAfter(now.plus(CLOCK_SKEW)) || at.isBefore(now.minus(OFFLINE))) {
      throw new WebException(
          422, "wrong-time", "The post is of %s, but now it is %s.".formatted(at, now));
    }
    var millisecond = at.truncatedTo(ChronoUnit.MILLIS);
    if (post.at().isPresent()) {
      me(caller).post(millisecond, post.text());
    } else {
      me(caller).postFrom(millisecond, post.text());
    }
  }

  private void unpost(Caller caller, Unpost post) {
    me(caller).unpost(post.at());
  }

  private void follow(Caller caller, Named other) {
    me(caller).follow(Name.checked(other.name()));
  }

  private void unfollow(Caller caller, Named other) {
    me(caller).unfollow(Name.checked(other.name()));
  }

  private Reply session(Request request) {
    return Reply.json(new Session(request.caller().name(), Instant.now(), ports))
        .withHeader("Cache-Control", "no-store");
  }

  private User me(Caller caller) {
    return user(caller.name());
  }

  private User user(String name) {
    return grains.get(User.class, name);
  }

  private static String name(String typed) {
    try {
      return Name.checked(typed);
    } catch (RefusedException e) {
      throw refused(e);
    }
  }

  private static Chirp.Place place(String cursor) {
    try {
      return Chirp.Place.of(cursor);
    } catch (RefusedException e) {
      throw refused(e);
    }
  }

  private static <C> CommandHandler<C> refusing(CommandHandler<C> handler) {
    return (caller, command) -> {
      try {
        handler.handle(caller, command);
      } catch (RefusedException e) {
        throw refused(e);
      }
    };
  }

  private static WebException refused(RefusedException e) {
    return new WebException(422, "refused", String.valueOf(e.getMessage()));
  }

  /** The posts behind a cursor, the newest without one; and which one the page ends with. */
  record Behind(Optional<String> behind, Optional<String> until) {}

  /** Somebody's posts, as in {@link Behind}. */
  record Posts(String name, Optional<String> behind, Optional<String> until) {}

  /** Somebody. */
  record Named(String name) {}

  /** Somebody, and behind which cursor their people begin; the first without one. */
  record Listed(String name, Optional<String> behind) {}

  /** What names begin with, and behind which cursor they begin; the first without one. */
  record Search(String prefix, Optional<String> behind) {}

  /**
   * A new post.
   *
   * @param at chosen by the page, so that sending it again is the same post; now if it is missing
   */
  record Post(Optional<Instant> at, String text) {}

  /** The time of a post to remove. */
  record Unpost(Instant at) {}

  /**
   * Who somebody is.
   *
   * @param known whether anyone ever signed in by that name or was imported
   */
  record Person(boolean known, User.Profile profile) {}

  /** A name in a list, and whether the one who looks follows it. */
  record Marked(String name, boolean followed) {}

  /**
   * What a page needs to know at first.
   *
   * @param name who it belongs to, empty for nobody
   * @param now what time it is
   * @param ports where else the same page is served, on the same host; none if only here
   */
  record Session(String name, Instant now, List<Integer> ports) {}
}

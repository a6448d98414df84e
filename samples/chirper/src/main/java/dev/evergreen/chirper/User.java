package dev.evergreen.chirper;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;
import java.time.Instant;
import java.util.List;
import java.util.Set;

/**
 * A person (004 §2.1, Figure 1); the key is the name. The paper bounds what the queries return by a
 * time; here it is a number, so that nobody's timeline grows without limit.
 *
 * <p>Every operation but {@link #postFrom} is idempotent: after a failure it is right to repeat it.
 */
public interface User extends Grain {

  /** The most people one can follow; it bounds what a timeline costs. */
  int MOST_FOLLOWED = 5_000;

  /** The newest posts of this user, newest first. */
  @ReadOnly
  List<Chirp> messages(int newest);

  /** The newest posts of this user and of everyone followed, newest first. */
  @ReadOnly
  List<Chirp> timeline(int newest);

  /** The newest posts of this user behind a place, newest first. */
  @ReadOnly
  List<Chirp> messagesBehind(Chirp.Place place, int most);

  /** The newest posts of this user and of everyone followed behind a place, newest first. */
  @ReadOnly
  List<Chirp> timelineBehind(Chirp.Place place, int most);

  /** How much there is of this user. */
  @ReadOnly
  Profile profile();

  /** The first of those whom this user follows behind a name, in the order of the alphabet. */
  @ReadOnly
  List<String> follows(String behind, int most);

  /** Those of some people whom this user follows. */
  @ReadOnly
  Set<String> followsAmong(List<String> people);

  /**
   * Posts a text. A second post at the same time replaces the first.
   *
   * @throws RefusedException if the text is empty or too long
   */
  void post(Instant at, String text);

  /**
   * Posts a text at the first millisecond from this one on that no post has yet, and after what is
   * archived. Who repeats it posts twice.
   *
   * @throws RefusedException if the text is empty or too long
   */
  void postFrom(Instant earliest, String text);

  /** Removes the post of this time, if there is one. */
  void unpost(Instant at);

  /**
   * Follows another user.
   *
   * @throws RefusedException if that user does not exist or is this one, or if this one follows too
   *     many
   */
  void follow(String user);

  /** Follows that user no longer. */
  void unfollow(String user);

  /**
   * Adds many posts of this user and many users to follow, with one save. Unlike {@link #follow} it
   * does not look whether they exist and tells them nothing: an import does that in bulk.
   */
  void load(List<Chirp> posts, List<String> follows);

  /**
   * How much there is of a user.
   *
   * @param posts posts not removed
   * @param follows people this user follows
   * @param followers people who follow this user
   */
  record Profile(int posts, int follows, int followers) {}
}

package dev.evergreen.chirper.variants;

import dev.evergreen.chirper.Chirp;
import dev.evergreen.chirper.User;
import dev.evergreen.chirper.UserGrain;
import dev.evergreen.core.GrainContext;
import java.time.Instant;
import java.util.List;
import java.util.Set;

/** A user whose changes are announced by hand (004 §3.2, Figure 3). */
final class ObservedUserGrain implements User {

  private final String name;
  private final User plain;
  private final Observers observers;

  ObservedUserGrain(GrainContext<String> context, Observers observers) {
    name = context.key();
    plain = new UserGrain(context);
    this.observers = observers;
  }

  @Override
  public void post(Instant at, String text) {
    plain.post(at, text);
    observers.postsChanged(name);
  }

  @Override
  public void postFrom(Instant earliest, String text) {
    plain.postFrom(earliest, text);
    observers.postsChanged(name);
  }

  @Override
  public void unpost(Instant at) {
    plain.unpost(at);
    observers.postsChanged(name);
  }

  @Override
  public void load(List<Chirp> posts, List<String> follows) {
    plain.load(posts, follows);
    observers.postsChanged(name);
  }

  @Override
  public void follow(String user) {
    plain.follow(user);
    observers.timelineChanged(name);
  }

  @Override
  public void unfollow(String user) {
    plain.unfollow(user);
    observers.timelineChanged(name);
  }

  @Override
  public List<Chirp> messages(int newest) {
    return plain.messages(newest);
  }

  @Override
  public List<Chirp> timeline(int newest) {
    return plain.timeline(newest);
  }

  @Override
  public List<Chirp> messagesBehind(Chirp.Place place, int most) {
    return plain.messagesBehind(place, most);
  }

  @Override
  public List<Chirp> timelineBehind(Chirp.Place place, int most) {
    return plain.timelineBehind(place, most);
  }

  @Override
  public Profile profile() {
    return plain.profile();
  }

  @Override
  public List<String> follows(String behind, int most) {
    return plain.follows(behind, most);
  }

  @Override
  public Set<String> followsAmong(List<String> people) {
    return plain.followsAmong(people);
  }
}

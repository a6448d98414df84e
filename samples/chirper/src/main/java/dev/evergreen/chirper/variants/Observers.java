package dev.evergreen.chirper.variants;

import dev.evergreen.chirper.Chirp;
import dev.evergreen.chirper.ChirperGrains;
import dev.evergreen.chirper.NameIndex;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.Grains;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * What observers written by hand need beside the grains: a way from a grain to a client, and a way
 * to tell other grains of a change.
 *
 * <p>The second must not wait inside the turn that made the change, as Figure 3 does: two users who
 * follow each other and post at the same time would wait for each other until both calls time out.
 * So it happens in a thread of its own, whose first read waits until the turn is over and saved.
 *
 * <p>The first is a table in this process. Among several nodes it would have to be a connection.
 */
public final class Observers {

  private final Map<String, Consumer<List<Chirp>>> displays = new ConcurrentHashMap<>();
  private final CompletableFuture<Grains> grains = new CompletableFuture<>();

  /** Registers the grains of this variant, with the observed user in place of the plain one. */
  public EmbeddedNode.Builder addTo(EmbeddedNode.Builder node) {
    return node.grains(ChirperGrains.types(context -> new ObservedUserGrain(context, this)))
        .grain(TimelineObservers.class, context -> new TimelineObserversGrain(context, this));
  }

  /** Gives the references for calls that belong to no turn; call it when the node has started. */
  public void attach(Grains references) {
    grains.complete(references);
  }

  void add(String id, Consumer<List<Chirp>> display) {
    displays.put(id, display);
  }

  void remove(String id) {
    displays.remove(id);
  }

  void show(String id, List<Chirp> timeline) {
    displays.getOrDefault(id, gone -> {}).accept(timeline);
  }

  /** This user's own timeline changes. */
  void timelineChanged(String user) {
    Thread.startVirtualThread(() -> refresh(user));
  }

  /** The timelines of this user and of all followers change. */
  void postsChanged(String user) {
    Thread.startVirtualThread(
        () -> {
          var concerned = new ArrayList<>(List.of(user));
          concerned.addAll(
              NameIndex.followersOf(user, grains.join()).find("", "", Integer.MAX_VALUE));
          concerned.forEach(each -> Thread.startVirtualThread(() -> refresh(each)));
        });
  }

  private void refresh(String user) {
    try {
      grains.join().get(TimelineObservers.class, user).refresh();
    } catch (GrainException e) {
      // The observers see it when they register again.
    }
  }
}

package dev.evergreen.memcached;

import dev.evergreen.core.Freshness;
import dev.evergreen.memcached.live.LiveItem;
import dev.evergreen.memcached.live.LiveItemException;
import dev.evergreen.memcached.live.LiveItems;
import dev.evergreen.store.Fetch;
import dev.evergreen.store.Item;
import dev.evergreen.store.Key;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Store;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Finds items for requests. All are in the store; those of live keys are brought there first, and
 * cannot be changed.
 */
final class Lookup {
  static final byte[] KEY_IS_LIVE = TextProtocol.bytes("SERVER_ERROR key is live");

  private final Protocol protocol;
  private final Store store;
  private final @Nullable LiveItems live;
  private final Fetch plainFetch = new Fetch();
  private boolean inDoubt;

  Lookup(Protocol protocol) {
    this.protocol = protocol;
    store = protocol.store;
    live = protocol.server.live;
  }

  /**
   * As {@link Store#get}; waits for the first result of a live key, and for three seconds at most
   * if others hold so much that a large value cannot be held.
   *
   * @throws LiveItemException if a live key has no value to answer with
   */
  Outcome get(Key key, Item item) throws IOException, LiveItemException {
    inDoubt = false;
    var found = live == null ? null : live.find(key);
    Outcome outcome;
    int tries = 0;
    do {
      outcome = found == null ? store.get(key, item) : look(found, key, plainFetch.clear(), item);
    } while (outcome == Outcome.BUSY && protocol.session().awaitRoom(tries++));
    return outcome;
  }

  /** As {@link Store#fetch}, but on a live key it has no effect; else as {@link #get}. */
  Outcome fetch(Key key, Fetch fetch, Item item) throws IOException, LiveItemException {
    inDoubt = false;
    var found = live == null ? null : live.find(key);
    Outcome outcome;
    int tries = 0;
    do {
      outcome =
          found == null
              ? store.fetch(key, fetch, item)
              : look(found, key, plainFetch.readLike(fetch), item);
    } while (outcome == Outcome.BUSY && protocol.session().awaitRoom(tries++));
    return outcome;
  }

  /** Whether the item that was found last is live and its value may be outdated. */
  boolean isInDoubt() {
    return inDoubt;
  }

  /** Whether a key is live, so that its item cannot be changed. */
  boolean isLive(Key key) {
    return live != null && live.owns(key);
  }

  private Outcome look(LiveItem found, Key key, Fetch fetch, Item item)
      throws IOException, LiveItemException {
    LiveItem present = found;
    while (true) {
      await(present);
      var outcome = store.fetch(key, fetch, item);
      if (outcome != Outcome.NOT_FOUND) {
        inDoubt = present.freshness() == Freshness.IN_DOUBT;
        return outcome;
      }
      if (!present.restore() && live != null) {
        var next = live.find(key);
        present = next == null ? present : next;
      }
    }
  }

  private void await(LiveItem present) throws IOException, LiveItemException {
    if (present.isReady()) {
      present.check();
    } else {
      protocol.awaitFirst(present);
    }
  }
}

package dev.evergreen.memcached;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.memcached.Details.Kind;
import dev.evergreen.memcached.Watchers.Topic;
import dev.evergreen.store.Fetch;
import dev.evergreen.store.Item;
import dev.evergreen.store.Outcome;
import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** Tells of the requests of one connection, if somebody wants to know. */
final class Observer {
  private final Protocol protocol;
  private final MemcachedServer server;
  private final Fetch look = new Fetch().unnoticed().winless().withoutValue();
  private final Item looked = new Item();

  Observer(Protocol protocol) {
    this.protocol = protocol;
    server = protocol.server;
  }

  private MemorySegment key() {
    return protocol.key.bytes();
  }

  private String encodedKey() {
    return Watchers.encode(key());
  }

  private void count(Kind kind) {
    if (server.details.enabled()) {
      server.details.count(new String(key().toArray(JAVA_BYTE), ISO_8859_1), kind);
    }
  }

  void fetched(boolean hit) {
    count(Kind.GET);
    if (hit) {
      count(Kind.HIT);
    }
    if (server.watchers.want(Topic.FETCHERS)) {
      tellFetch(hit, protocol.item);
    }
  }

  private void tellFetch(boolean hit, Item item) {
    var what = hit ? "found clsid=1" : "not_found clsid=0";
    server.watchers.tell(
        Topic.FETCHERS,
        "item_get key=%s status=%s cfd=%d size=%d"
            .formatted(
                encodedKey(), what, protocol.session().number, hit ? item.valueLength() : 0));
  }

  /**
   * Tells that somebody looks for the item that is to be changed or described: memcached does, and
   * tells it as a fetch.
   */
  void tellLook() {
    if (server.watchers.want(Topic.FETCHERS)) {
      boolean hit = server.store.fetch(protocol.key, look, looked) == Outcome.FOUND;
      tellFetch(hit, looked);
    }
  }

  /**
   * Tells what became of a value.
   *
   * @param length of the value that was sent
   */
  void stored(Outcome outcome, long length) {
    count(Kind.SET);
    if (server.watchers.want(Topic.MUTATIONS)) {
      boolean stored = outcome == Outcome.STORED;
      int expiry = stored ? protocol.item.expiry() : 0;
      server.watchers.tell(
          Topic.MUTATIONS,
          "item_store key=%s status=%s cmd=%s ttl=%d clsid=1 cfd=%d size=%d"
              .formatted(
                  encodedKey(),
                  outcome == Outcome.OUT_OF_MEMORY
                      ? "no_memory"
                      : outcome.name().toLowerCase(Locale.ROOT),
                  protocol.commandName(),
                  expiry == 0 ? 0 : expiry - server.clock.second(),
                  protocol.session().number,
                  stored ? protocol.item.valueLength() : length));
    }
  }

  void deleted(String command, boolean deleted) {
    if (server.isObserved()) {
      count(Kind.DELETE);
      if (deleted && server.watchers.want(Topic.DELETIONS)) {
        server.watchers.tell(
            Topic.DELETIONS,
            "deleted key=%s cmd=%s clsid=1 size=%d"
                .formatted(encodedKey(), command, protocol.item.size()));
      }
    }
  }
}

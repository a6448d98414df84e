package dev.evergreen.chirper;

import dev.evergreen.core.Node;
import dev.evergreen.memcached.live.LiveKey;
import dev.evergreen.memcached.live.LiveViews;

/**
 * What clients of memcached may get: the newest posts of a timeline or of a person, and a profile,
 * as the page shows them, kept true as long as they are asked for.
 */
final class CachedItems {

  /** As many as the page shows at first. */
  private static final int POSTS = 50;

  private CachedItems() {}

  /** The items over a node's grains. */
  static LiveViews of(Node node) {
    return LiveViews.over(node)
        .view(
            "timeline",
            "timeline:{user}",
            key -> {
              var user = user(node, key);
              return () -> user.timeline(POSTS);
            })
        .view(
            "posts",
            "posts:{user}",
            key -> {
              var user = user(node, key);
              return () -> user.messages(POSTS);
            })
        .view(
            "profile",
            "profile:{user}",
            key -> {
              var user = user(node, key);
              return user::profile;
            });
  }

  private static User user(Node node, LiveKey key) {
    return node.grains().get(User.class, Name.checked(key.get("user")));
  }
}

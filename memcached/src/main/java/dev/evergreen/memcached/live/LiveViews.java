package dev.evergreen.memcached.live;

import dev.evergreen.core.Computation;
import dev.evergreen.core.Node;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The live items that a server declares: a get of a key that fits a view's pattern answers the
 * latest result of its computation as JSON.
 *
 * {@snippet :
 * LiveViews.over(node)
 *     .view("timeline", "timeline:{user}", key -> {
 *       var timeline = node.grains().get(Timeline.class, key.get("user"));
 *       return timeline::posts;
 *     });
 * }
 *
 * <p>A computation is begun by the first request for its key and serves all others; it is kept true
 * by pushes, and closed when nobody has asked for it for a while.
 */
public final class LiveViews {

  /** A kind of live items. */
  record View(String name, KeyPattern keys, Function<LiveKey, ? extends Computation<?>> made) {}

  final Node node;
  private final List<View> views = new ArrayList<>();
  private int maxKeys = 100_000;
  private long maxBytes = Runtime.getRuntime().maxMemory() / 4;
  private Duration keepFor = Duration.ofSeconds(60);
  private Duration firstResultWithin = Duration.ofSeconds(1);

  private LiveViews(Node node) {
    this.node = node;
  }

  /** No views yet, whose computations a node will run. */
  public static LiveViews over(Node node) {
    return new LiveViews(node);
  }

  /**
   * Declares a view.
   *
   * @param name for error messages and statistics
   * @param keys the pattern of its keys, such as {@code timeline:{user}}: text, then names in
   *     braces, parted by text. Of several patterns that a key fits the first declared counts.
   * @param computation called for each key; what it returns runs as a reactive computation. An
   *     exception that it throws is what the key's requests are answered with.
   * @throws IllegalArgumentException if the pattern is none, or the name is taken or has blanks
   */
  public LiveViews view(
      String name, String keys, Function<LiveKey, ? extends Computation<?>> computation) {
    if (!name.matches("[!-~]+") || views.stream().anyMatch(view -> view.name().equals(name))) {
      throw new IllegalArgumentException(
          "A view's name is its own and has no blanks, unlike '" + name + "'");
    }
    views.add(new View(name, new KeyPattern(keys), computation));
    return this;
  }

  /** How many keys may be live at a time, 100,000 by default; more are answered with an error. */
  public LiveViews maxKeys(int maxKeys) {
    this.maxKeys = maxKeys;
    return this;
  }

  /**
   * How many bytes of JSON the live values may have together, a quarter of the largest heap by
   * default: each is on the heap, too. Keys beyond it are answered with an error.
   */
  public LiveViews maxBytes(long maxBytes) {
    this.maxBytes = maxBytes;
    return this;
  }

  /** How long a key stays live after the last request for it, 60 s by default. */
  public LiveViews keepFor(Duration keepFor) {
    this.keepFor = keepFor;
    return this;
  }

  /** How long a request waits for a key's first result, 1 s by default; then it gets an error. */
  public LiveViews firstResultWithin(Duration firstResultWithin) {
    this.firstResultWithin = firstResultWithin;
    return this;
  }

  List<View> views() {
    return List.copyOf(views);
  }

  int maxKeys() {
    return maxKeys;
  }

  long maxBytes() {
    return maxBytes;
  }

  Duration keepFor() {
    return keepFor;
  }

  Duration firstResultWithin() {
    return firstResultWithin;
  }
}

package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.engine.Cache.Installed;
import dev.evergreen.core.engine.Cache.Update;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.NodeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What each event makes of each state: the table at the head of {@link Cache}, cell by cell. */
final class CacheTest {

  private static final Path SOURCE =
      Path.of("src", "main", "java").resolve(Cache.class.getName().replace('.', '/') + ".java");

  private static final NodeId SELF = WiredNodes.id("a");
  private static final Version FIRST = new Version(1, 1);
  private static final Version LATER = new Version(1, 2);
  private static final Version ELSEWHERE = new Version(2, 1);

  /** What is told to no wish at all is told to none that is late enough. */
  private static final long TOO_EARLY = 0;

  private final WiredNodes wired = new WiredNodes(SELF);
  private final Cache cache = newCache();

  @AfterEach
  void stop() {
    wired.close();
  }

  private Cache newCache() {
    var node = wired.start(SELF, NodeSettings.DEFAULT);
    return new Cache(node.caches, WiredNodes.key(node, Cell.class, "c", "text()"));
  }

  // States

  private void reach(String state) {
    long wish = newWish();
    switch (state) {
      case "Nothing SILENT" -> {}
      case "Failed FAILING" -> fail(wish);
      case "Held HEARD" -> result(wish, FIRST);
      case "Held SILENT" -> {
        result(wish, FIRST);
        cache.silent();
      }
      case "Held FAILING" -> {
        result(wish, FIRST);
        fail(newWish());
      }
      default -> throw new IllegalArgumentException(state);
    }
    assertEquals(state, content() + " " + line());
  }

  private String content() {
    return cache.version() != null ? "Held" : cache.present() != null ? "Failed" : "Nothing";
  }

  /**
   * As far as it can be seen: what is held and in doubt, but not silent, was answered by failure.
   */
  private String line() {
    if (cache.closed()) {
      return "CLOSED";
    }
    return cache.isSilent() ? "SILENT" : cache.inDoubt() ? "FAILING" : "HEARD";
  }

  // Events

  /** Something that a cache is told. */
  private interface Event {
    /** Returns what became of it; null if the cache does not say. */
    @Nullable Installed happens();
  }

  private Map<String, Event> events() {
    var events = new LinkedHashMap<String, Event>();
    events.put("a result, late enough", () -> result(newWish(), LATER));
    events.put("a result, too early", () -> result(TOO_EARLY, LATER));
    events.put("of another epoch, wished", () -> result(newWish(), ELSEWHERE));
    events.put("of another epoch, unwished", () -> result(TOO_EARLY, ELSEWHERE));
    events.put("wished until compared", this::compared);
    events.put("the known one, late enough", () -> result(newWish(), FIRST));
    events.put("the known one, too early", () -> result(TOO_EARLY, FIRST));
    events.put("an answer, late enough", () -> heard(newWish()));
    events.put("an answer, too early", () -> heard(TOO_EARLY));
    events.put("an answer that is a failure", () -> heard(cache.generation()));
    events.put("why there is none, wished", () -> fail(newWish()));
    events.put("why there is none, unwished", () -> fail(TOO_EARLY));
    events.put("silence", this::silence);
    events.put("a wish", this::wish);
    events.put("the end", this::close);
    return events;
  }

  private long newWish() {
    return cache.wish(SELF);
  }

  private Installed result(long wish, Version version) {
    return Objects.requireNonNull(cache.installUncompared(update(wish, version)));
  }

  private static Update update(long wish, Version version) {
    var outcome = new Outcome.Returned(version.toString());
    return new Update(wish, version, outcome, 0, false, false, null);
  }

  private Installed fail(long wish) {
    return cache.install(Update.provisional(wish, new Outcome.NotStarted("not now", true)));
  }

  private @Nullable Installed compared() {
    cache.defer(update(newWish(), ELSEWHERE));
    newWish();
    var deferred = cache.takeDeferred();
    return deferred == null ? null : cache.install(deferred);
  }

  private @Nullable Installed heard(long wish) {
    boolean doubt = cache.inDoubt();
    boolean changed = cache.heard(wish);
    assertEquals(doubt != cache.inDoubt(), changed);
    return null;
  }

  private @Nullable Installed silence() {
    boolean doubt = cache.inDoubt();
    boolean changed = cache.silent();
    assertEquals(doubt != cache.inDoubt(), changed);
    return null;
  }

  private @Nullable Installed wish() {
    assertEquals(cache.closed(), newWish() == 0);
    return null;
  }

  private @Nullable Installed close() {
    cache.close();
    return null;
  }

  // The table

  /**
   * One of its cells.
   *
   * @param state content and line before
   * @param then what the event makes of them; a dot if it cannot come then
   */
  record Place(String event, String state, String then) {}

  static List<Place> cells() throws IOException {
    var rows = table();
    var contents = rows.getFirst();
    var lines = rows.get(1);
    var cells = new ArrayList<Place>();
    for (var row : rows.subList(2, rows.size())) {
      for (int i = 1; i < row.length; i++) {
        cells.add(new Place(row[0], contents[i] + " " + lines[i], row[i]));
      }
    }
    return cells;
  }

  private static List<String[]> table() throws IOException {
    return Files.readAllLines(SOURCE).stream()
        .dropWhile(line -> !line.equals(" * <pre>"))
        .skip(1)
        .takeWhile(line -> !line.equals(" * </pre>"))
        .map(line -> line.substring(3).split(" {2,}"))
        .filter(row -> row.length > 1)
        .toList();
  }

  @Test
  void theTableNamesEveryEventOnce() throws IOException {
    var named = table().stream().skip(2).map(row -> row[0]).toList();
    assertEquals(List.copyOf(events().keySet()), named);
    assertEquals(events().size() * 5, cells().size());
  }

  @ParameterizedTest
  @MethodSource("cells")
  void anEventMakesOfAStateWhatTheTableSays(Place cell) {
    if (!cell.then.equals(".")) {
      reach(cell.state);
      var read = Objects.requireNonNull(cache.retain(WiredNodes.NOBODY)).outcome();
      boolean doubt = cache.inDoubt();
      var installed = event(cell).happens();
      var now = cache.present();
      var change = now == read ? "=" : content().equals("Held") ? "+" : "!";
      boolean asksAgain = installed != null && installed.asksAgain();
      assertEquals(cell.then, change + line() + (asksAgain ? "?" : ""));
      if (installed != null && read != null) {
        assertEquals(told(now != read), installed.outdated());
        assertEquals(told(now == read && doubt != cache.inDoubt()), installed.affected());
      }
    }
  }

  private Event event(Place cell) {
    return Objects.requireNonNull(events().get(cell.event));
  }

  /** Whoever has read it, if it concerns them. */
  private static List<Cache.Dependent> told(boolean concerned) {
    return concerned ? List.of(WiredNodes.NOBODY) : List.of();
  }

  @ParameterizedTest
  @MethodSource("cells")
  void nothingChangesOneThatIsClosed(Place cell) {
    reach(cell.state);
    var content = cache.present();
    cache.close();
    var installed = event(cell).happens();
    assertEquals("CLOSED", line());
    assertEquals(content, cache.present());
    assertEquals(told(false), installed == null ? List.of() : installed.outdated());
    assertNull(cache.retain(WiredNodes.NOBODY));
  }
}

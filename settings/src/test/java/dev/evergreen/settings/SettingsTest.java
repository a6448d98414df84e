package dev.evergreen.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class SettingsTest {

  private static final Map<String, String> ENVIRONMENT =
      Map.of("EVERGREEN_SHOP_MAX_VIEWS", " 7 ", "EVERGREEN_SHOP_NAME", "x", "PATH", "/bin");

  private Path file = Path.of("");

  @BeforeEach
  void placeOfTheFile(@TempDir Path folder) {
    file = folder.resolve("shop.properties");
  }

  private static void assertRefused(String message, Runnable action) {
    assertEquals(message, assertThrows(IllegalArgumentException.class, action::run).getMessage());
  }

  private Settings written(String text) throws IOException {
    Files.writeString(file, text);
    return Settings.of(file);
  }

  @Test
  void aFileAndTheEnvironmentSayTheSame() throws IOException {
    var fromFile = written("# many\nmax-views = 7  \nname: x");
    var fromEnvironment = Settings.of(ENVIRONMENT, "EVERGREEN_SHOP_");
    for (var settings : List.of(fromFile, fromEnvironment)) {
      assertEquals(Set.of("max-views", "name"), settings.keys());
      assertEquals("7", settings.get("max-views"));
      assertNull(settings.get("path"));
    }
  }

  /** A pod has such variables for each service of its namespace. */
  @Test
  void whatKubernetesTellsOfServicesIsNotMeant() {
    var environment = new TreeMap<>(ENVIRONMENT);
    for (var service : List.of("", "DB_")) {
      var prefix = "EVERGREEN_SHOP_" + service;
      environment.put(prefix + "SERVICE_HOST", "10.0.0.1");
      environment.put(prefix + "SERVICE_PORT", "5432");
      environment.put(prefix + "SERVICE_PORT_WEB", "5432");
      environment.put(prefix + "PORT", "tcp://10.0.0.1:5432");
      environment.put(prefix + "PORT_5432_TCP", "tcp://10.0.0.1:5432");
      environment.put(prefix + "PORT_5432_TCP_PROTO", "tcp");
      environment.put(prefix + "PORT_5432_TCP_PORT", "5432");
      environment.put(prefix + "PORT_5432_TCP_ADDR", "10.0.0.1");
    }
    var settings = Settings.of(environment, "EVERGREEN_SHOP_");
    assertEquals(Set.of("max-views", "name"), settings.keys());
    environment.put("EVERGREEN_SHOP_PORT", "80");
    assertEquals("80", Settings.of(environment, "EVERGREEN_SHOP_").get("port"));
  }

  @Test
  void eachValueGoesToItsTaker() {
    var taken = new TreeMap<String, String>();
    var settings = Settings.of(ENVIRONMENT, "EVERGREEN_SHOP_");
    settings.apply(
        Map.of(
            "max-views", value -> taken.put("max-views", value),
            "name", value -> taken.put("name", value),
            "not-given", value -> taken.put("not-given", value)));
    assertEquals(Map.of("max-views", "7", "name", "x"), taken);
  }

  @Test
  void aKeyThatNobodyTakesIsRefusedAsItWasWritten() throws IOException {
    Map<String, Consumer<String>> takers = Map.of("name", _ -> {}, "colour", _ -> {});
    var inFile = written("max-views = 7");
    assertRefused("max-views in " + file + " is none of colour, name", () -> inFile.apply(takers));
    assertRefused(
        "EVERGREEN_SHOP_MAX_VIEWS in the environment is none of colour, name",
        () -> Settings.of(ENVIRONMENT, "EVERGREEN_SHOP_").apply(takers));
  }

  @Test
  void aValueThatItsTakerRefusesIsShown() throws IOException {
    var inFile = written("max-views = many");
    assertRefused(
        "max-views in " + file + " is 'many': it must be a whole number",
        () -> inFile.apply(Map.of("max-views", Settings::number)));
  }

  @Test
  void aKeyThatOthersNeedIsAskedFor() throws IOException {
    var inFile = written("name = x");
    assertEquals("x", inFile.needed("name"));
    assertRefused(
        "port in " + file + " is missing, which those given need: [name]",
        () -> inFile.needed("port"));
  }

  @Test
  void whatCannotBeReadIsNamed() {
    var failure = assertThrows(UncheckedIOException.class, () -> Settings.of(file));
    assertEquals(
        true, String.valueOf(failure.getMessage()).startsWith("The configuration " + file));
    assertRefused(
        "The configuration " + file + ": Malformed \\uxxxx encoding.",
        () -> {
          try {
            written("name = \\u12");
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }

  @Test
  void valuesHaveOneForm() {
    assertEquals(-3, Settings.number("-3"));
    assertEquals(List.of("a", "b"), Settings.list("a ,b"));
    assertEquals(true, Settings.yes("true"));
    assertEquals(false, Settings.yes("false"));
    assertRefused("it must be true or false", () -> Settings.yes("yes"));
  }

  @ParameterizedTest
  @CsvSource({
    "0s, PT0S",
    "7us, PT0.000007S",
    "250ms, PT0.25S",
    "90s, PT1M30S",
    "5min, PT5M",
    "2h, PT2H",
    "36500d, PT876000H"
  })
  void aTimeHasItsUnit(String value, Duration time) {
    assertEquals(time, Settings.duration(value));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10", "s", "-1s", "1.5s", "10 s", "10S", "10m", "PT10S", "10sec"})
  void aTimeInAnotherFormIsRefused(String value) {
    assertRefused(
        "it must be a time with its unit, such as 250ms, 10s, 5min, 2h or 7d",
        () -> Settings.duration(value));
  }

  @ParameterizedTest
  @ValueSource(strings = {"36501d", "999999999999999999h", "999999999999999999us"})
  void aTimeIsACenturyAtMost(String value) {
    assertRefused("it must be at most 36500d", () -> Settings.duration(value));
  }

  @ParameterizedTest
  @CsvSource({
    "0B, 0",
    "512B, 512",
    "64KiB, 65536",
    "2GiB, 2147483648",
    "3TiB, 3298534883328",
    "999999999999999999B, 999999999999999999",
    "8388607TiB, 9223370937343148032"
  })
  void aSizeHasItsUnit(String value, long bytes) {
    assertEquals(bytes, Settings.size(value));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10", "KiB", "-1B", "1.5KiB", "10 KiB", "10k", "10KB", "10kib"})
  void aSizeInAnotherFormIsRefused(String value) {
    assertRefused(
        "it must be a size with its unit, such as 512B, 64KiB, 16MiB or 4GiB",
        () -> Settings.size(value));
  }

  @Test
  void aSizeThatNothingHasIsRefused() {
    assertRefused("there is no room for that", () -> Settings.size("8388608TiB"));
  }

  /** As they are in other rooms. */
  public record Shop(
      String name,
      int maxGoods,
      int maxBytesOfName,
      long roomInBytes,
      long count,
      boolean open,
      Duration from,
      Duration to) {

    private static final Shop DEFAULT =
        new Shop("a", 1, 2, 3, 4, false, Duration.ofHours(8), Duration.ofHours(18));

    public Shop {
      if (to.compareTo(from) < 0) {
        throw new IllegalArgumentException("it closes before it opens");
      }
    }
  }

  @Test
  void theComponentsOfARecordAreKeys() throws IOException {
    assertEquals(
        Set.of(
            "shop-name",
            "shop-max-goods",
            "shop-max-bytes-of-name",
            "shop-room-in-bytes",
            "shop-count",
            "shop-open",
            "shop-from",
            "shop-to"),
        Settings.keysOf(Shop.class, "shop-"));
    var all =
        written(
            """
            name = b
            max-goods = 7
            max-bytes-of-name = 1KiB
            room-in-bytes = 4GiB
            count = 9
            open = true
            from = 20h
            to = 22h
            another = x
            """);
    assertEquals(
        new Shop("b", 7, 1024, 4L << 30, 9, true, Duration.ofHours(20), Duration.ofHours(22)),
        all.changed(Shop.DEFAULT, ""));
    assertSame(Shop.DEFAULT, all.changed(Shop.DEFAULT, "shop-"));
  }

  @Test
  void whatARecordRefusesIsNamedByItsKeys() throws IOException {
    assertRefused(
        "from in " + file + " makes no sense: it closes before it opens", changing("from = 20h"));
    assertRefused(
        "from in " + file + " with to makes no sense: it closes before it opens",
        changing("from = 20h\nto = 19h"));
    assertRefused(
        "max-bytes-of-name in " + file + " is '2GiB': it must be less than 2GiB",
        changing("max-bytes-of-name = 2GiB"));
    var environment = Settings.of(Map.of("EVERGREEN_SHOP_FROM", "9"), "EVERGREEN_SHOP_");
    assertRefused(
        "EVERGREEN_SHOP_FROM in the environment is '9': it must be a time with its unit, such as"
            + " 250ms, 10s, 5min, 2h or 7d",
        () -> environment.changed(Shop.DEFAULT, ""));
  }

  private Runnable changing(String text) throws IOException {
    var settings = written(text);
    return () -> settings.changed(Shop.DEFAULT, "");
  }
}

package dev.evergreen.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
}

package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.settings.SettingsPage;
import dev.evergreen.storage.PostgresStorage.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where a database is, from a file and from the environment. */
final class PostgresSettingsTest {

  private static final String URL = "jdbc:postgresql://db.example/shop";

  @TempDir private Path folder;

  private Settings configured(String text) throws IOException {
    return Settings.configuredBy(Files.writeString(folder.resolve("shop.properties"), text));
  }

  private static Settings configured(Map<String, String> environment) {
    return Settings.configuredBy(
        dev.evergreen.settings.Settings.of(environment, Settings.VARIABLES));
  }

  @Test
  void aFileAndTheEnvironmentSayTheSame() throws IOException {
    var expected =
        Settings.of(URL)
            .withUser("ada", "secret")
            .withConnections(8)
            .withPatience(Duration.ofSeconds(3));
    assertEquals(
        expected,
        configured(
            "url = " + URL + "\nuser = ada\npassword = secret\nconnections = 8\npatience = 3s"));
    assertEquals(
        expected,
        configured(
            Map.of(
                "EVERGREEN_POSTGRES_URL", URL,
                "EVERGREEN_POSTGRES_USER", "ada",
                "EVERGREEN_POSTGRES_PASSWORD", "secret",
                "EVERGREEN_POSTGRES_CONNECTIONS", "8",
                "EVERGREEN_POSTGRES_PATIENCE", "3s")));
    assertEquals(Settings.of(URL), configured("url = " + URL));
  }

  @Test
  void whatMakesNoSenseIsNamedWithoutPasswords() {
    assertRefused("url in the environment is missing", "PATIENCE", "3s");
    assertRefused("it must be a time with its unit", "PATIENCE", "3");
    assertRefused("At least 2 connections are needed", "CONNECTIONS", "1");
    assertRefused("is none of connections, password, patience, url, user", "USR", "ada");
    assertRefused("'jdbc:oracle:x' is no URL", "URL", "jdbc:oracle:x?password=secret");
    assertRefused("'postgresql://db/x' is no URL", "URL", "postgresql://ada:secret@db/x");
    assertRefused("without a user", "URL", "jdbc:postgresql://ada:secret@db/x");
    assertRefused("without a user", "URL", "jdbc:postgresql://ada:sec/secret@db/x");
  }

  private static void assertRefused(String message, String key, String value) {
    var environment = new java.util.HashMap<String, String>();
    environment.put("EVERGREEN_POSTGRES_PASSWORD", "secret");
    if (!message.contains("missing")) {
      environment.put("EVERGREEN_POSTGRES_URL", URL);
    }
    environment.put("EVERGREEN_POSTGRES_" + key, value);
    var said =
        String.valueOf(
            assertThrows(IllegalArgumentException.class, () -> configured(environment))
                .getMessage());
    var expected = message.replace("url in", "EVERGREEN_POSTGRES_URL in");
    assertTrue(said.contains(expected), said);
    assertFalse(said.contains("secret"), said);
  }

  /** Each default of the page, given as a setting, changes nothing. */
  @Test
  void thePageOfSettingsHasEachKeyWithItsDefault() throws IOException {
    var page = SettingsPage.section("PostgreSQL");
    assertEquals(dev.evergreen.settings.Settings.keysOf(Settings.class, ""), page.keySet());
    assertEquals(Settings.of(URL), configured("url = " + URL + "\n" + SettingsPage.defaults(page)));
    assertTrue(page.values().stream().filter(java.util.Optional::isPresent).count() == 2);
  }
}

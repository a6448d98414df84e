package dev.evergreen.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class ResultJsonTest {

  /** A value of the kinds that results have. */
  public record Post(
      String text, Instant at, Duration age, Optional<String> of, Map<String, List<Long>> marks) {}

  /** A value that cannot be written. */
  public record Unwritable() {
    /** Fails. */
    public String getText() {
      throw new IllegalStateException("no text");
    }
  }

  private static String write(Object value) throws IOException {
    return new String(ResultJson.write(value, 1_000), UTF_8);
  }

  @Test
  void valuesAreWrittenAsPeopleExpectThem() throws IOException {
    var post =
        new Post(
            "grüße \"alle\"\n",
            Instant.parse("2026-01-02T03:04:05Z"),
            Duration.ofMinutes(90),
            Optional.empty(),
            Map.of("a", List.of(1L, 2L)));
    assertEquals(
        "{\"text\":\"grüße \\\"alle\\\"\\n\",\"at\":\"2026-01-02T03:04:05Z\",\"age\":\"PT1H30M\","
            + "\"of\":null,\"marks\":{\"a\":[1,2]}}",
        write(post));
    assertEquals("null", new String(ResultJson.write(null, 4), UTF_8));
    assertEquals("\"x\"", write(Optional.of("x")));
  }

  @Test
  void nothingLongerThanTheLimitIsMade() throws IOException {
    assertEquals(12, ResultJson.write("0123456789", 12).length);
    assertThrows(ResultJson.TooLargeException.class, () -> ResultJson.write("0123456789", 11));
    assertThrows(
        ResultJson.TooLargeException.class, () -> ResultJson.write("x".repeat(1 << 20), 1_000));
  }

  @Test
  void whatCannotBeWrittenIsSaid() {
    assertThrows(JsonProcessingException.class, () -> write(new Unwritable()));
  }
}

package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What rules hide, whatever they are given. */
@Timeout(60)
class RedactorTest {
  @TempDir Path directory;

  private Redactor redactor(String... rules) throws IOException {
    return Redactor.open(directory, List.of(rules).stream().map(Pattern::compile).toList());
  }

  /** More of the stack than there is, and a look at each character from each before it. */
  @ParameterizedTest
  @ValueSource(strings = {"a=(\\w|-)+", "a+b"})
  void hidesAllOfWhatARuleFailsAt(String rule) throws Exception {
    var redactor = redactor(rule);
    var value = Bytes.of("x a=" + "a".repeat(200_000));
    assertEquals(redactor.mark(value), redactor.clean(value));
    assertEquals(Bytes.of("x"), redactor.clean(Bytes.of("x")));
  }

  @Test
  void hidesEachThatIsFound() throws Exception {
    var redactor = redactor("pw-\\d+", "[a-z]+@x[.]org");
    var one = redactor.mark(Bytes.of("pw-1"));
    var ann = redactor.mark(Bytes.of("ann@x.org"));
    assertEquals(
        Bytes.of("a " + one + "," + one + " of " + ann + "."),
        redactor.clean(Bytes.of("a pw-1,pw-1 of ann@x.org.")));
  }

  /** It would put a mark between all characters, also of what a command is called. */
  @ParameterizedTest
  @ValueSource(strings = {"(secret)?", "a*", "$", "x|"})
  void refusesARuleThatFindsTheEmptyText(String rule) {
    var e = assertThrows(IllegalArgumentException.class, () -> redactor(rule));
    assertTrue(String.valueOf(e.getMessage()).contains("'" + rule + "'"), e.toString());
  }

  /** Who loads what a recorder has left knows its rules from a file only. */
  @Test
  void isTheSameFromItsFile() throws Exception {
    var rules =
        List.of(
            Pattern.compile("pw-[a-z]+", Pattern.CASE_INSENSITIVE),
            Pattern.compile("x(?i)y"),
            Pattern.compile("a[b", Pattern.LITERAL),
            Pattern.compile("one # two", Pattern.COMMENTS),
            Pattern.compile("key: \\d+"));
    var redactor = Redactor.open(directory, rules);
    redactor.keep(directory);
    var again = Redactor.reopen(directory);
    assertEquals(redactor.id(), again.id());
    for (var text : List.of("PW-Geheim", "xY", "XY", "a[b", "A[B", "one", "ONE", "key: 1", "k")) {
      assertEquals(redactor.clean(Bytes.of(text)), again.clean(Bytes.of(text)), text);
    }
  }

  @Test
  void takesTheFileOfAFormerVersion() throws Exception {
    var redactor = redactor("0 old", "pw-\\d+");
    Files.writeString(directory.resolve("rules"), "0 old\0pw-\\d+");
    assertEquals(redactor.id(), Redactor.reopen(directory).id());
  }

  /** Though not in the empty text. */
  @Test
  void hidesNothingBetweenCharacters() throws Exception {
    assertEquals(Bytes.of("set a b"), redactor("\\b").clean(Bytes.of("set a b")));
  }
}

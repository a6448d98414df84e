package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Fields keep their lines, whatever is changed. */
class FieldsTest {

  /** A line, as a model knows it. */
  private record Line(String name, String value) {}

  @Test
  void changesAreThoseOfAList() {
    var random = new Random(1);
    var names = new String[] {"A", "a", "Bb", "bB", "Content-Type", "X-Very-Long-Name-Of-A-Field"};
    for (int round = 0; round < 200; round++) {
      var fields = new Fields();
      var model = new ArrayList<Line>();
      for (int i = 0; i < 60; i++) {
        var name = names[random.nextInt(names.length)];
        var value = "v".repeat(random.nextInt(50));
        switch (random.nextInt(5)) {
          case 0, 1 -> {
            fields.add(name, value);
            model.add(new Line(name, value));
          }
          case 2 -> {
            fields.set(name, value);
            set(model, name, value);
          }
          case 3 -> {
            fields.remove(name);
            model.removeIf(it -> it.name.equalsIgnoreCase(name));
          }
          default -> {
            if (!model.isEmpty()) {
              int line = random.nextInt(model.size());
              fields.removeLine(line);
              model.remove(line);
            }
          }
        }
        check(model, fields);
      }
      var twice = fields.copy().addAll(fields);
      var modelTwice = new ArrayList<>(model);
      modelTwice.addAll(model);
      check(modelTwice, twice);
      check(model, fields);
    }
  }

  private static void set(List<Line> model, String name, String value) {
    int first = -1;
    for (int i = model.size() - 1; i >= 0; i--) {
      if (model.get(i).name.equalsIgnoreCase(name)) {
        model.remove(i);
        first = i;
      }
    }
    model.add(first < 0 ? model.size() : first, new Line(name, value));
  }

  private static void check(List<Line> model, Fields fields) {
    var text = new StringBuilder();
    model.forEach(it -> text.append(it.name).append(": ").append(it.value).append("\r\n"));
    assertEquals(text.toString(), fields.toString());
    assertEquals(model.size(), fields.count());
    for (int i = 0; i < model.size(); i++) {
      assertEquals(model.get(i), new Line(fields.name(i), fields.value(i)));
      var name = model.get(i).name;
      assertEquals(
          model.stream().filter(it -> it.name.equalsIgnoreCase(name)).map(Line::value).toList(),
          fields.all(name));
    }
    var into = ByteBuffer.allocate(fields.size());
    fields.put(into);
    assertEquals(
        text.toString(), new String(into.array(), java.nio.charset.StandardCharsets.ISO_8859_1));
  }

  @Test
  void linesThatWereSentStayAsTheyWere() throws Exception {
    var sent = "hOST:a\r\nX: \t b c\t \r\nEmpty:\r\nBlank: \t\r\n";
    var fields = new Fields().parse(ByteBuffer.wrap(Talk.bytes(sent)));
    assertEquals(sent, fields.toString());
    assertEquals("a", fields.get("Host"));
    assertEquals("b c", fields.get("x"));
    assertEquals("", fields.get("empty"));
    assertEquals("", fields.get("blank"));
    assertNull(fields.get("other"));
    fields.set("x", "y");
    assertEquals("hOST:a\r\nx: y\r\nEmpty:\r\nBlank: \t\r\n", fields.toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a",
        "a\r\n",
        ": b\r\n",
        " a: b\r\n",
        "a : b\r\n",
        "a: b\n",
        "a: b\rc\r\n",
        "a: \0\r\n",
        "\n"
      })
  void whatIsNoLineIsRefused(String line) {
    assertThrows(
        MalformedMessageException.class,
        () -> new Fields().parse(ByteBuffer.wrap(Talk.bytes(line))));
  }

  @Test
  void whatCannotBeSentCannotBeAdded() {
    for (var name : new String[] {"", "a b", "a:", "\u00e4", "\u0416", "a\r\n"}) {
      assertThrows(IllegalArgumentException.class, () -> Fields.of(name, "b"), name);
    }
    for (var value : new String[] {" a", "a ", "a\tb\n", "\r", "\0", "\u0416"}) {
      assertThrows(IllegalArgumentException.class, () -> Fields.of("a", value), value);
      var fields = Fields.of("a", "b", "a", "c");
      assertThrows(IllegalArgumentException.class, () -> fields.set("A", value));
      assertEquals(Fields.of("a", "b", "a", "c"), fields);
    }
    assertThrows(IllegalStateException.class, () -> Fields.NONE.add("a", "b"));
    assertThrows(IllegalStateException.class, () -> Fields.of("a", "b").freeze().remove("a"));
    assertEquals(Fields.of("a", "b", "c", "d"), Fields.of("a", "b").freeze().copy().add("c", "d"));
  }

  @Test
  void listsAreReadOverAllLines() {
    var fields = Fields.of("A", "b, \"c,d\\\",\", ,E=\"f\"", "x", "y", "a", ",g ,");
    assertEquals(List.of("b", "\"c,d\\\",\"", "E=\"f\"", "g"), fields.members("a"));
    assertEquals("b, \"c,d\\\",\", ,E=\"f\", ,g ,", fields.joined("a"));
    assertTrue(fields.hasMember("a", "B") && fields.hasMember("a", "G"));
    assertFalse(
        fields.hasMember("a", "c") || fields.hasMember("a", "f") || fields.hasMember("x", "b"));
    assertThrows(
        IllegalArgumentException.class,
        () -> Fields.of("Set-Cookie", "a", "set-cookie", "b").joined("Set-Cookie"));
    assertEquals("a", Fields.of("Set-Cookie", "a").joined("Set-Cookie"));
  }

  @ParameterizedTest
  @CsvSource({
    "GET,/a?b,a:80,http,/a?b",
    "GET,http://b,b,http,/",
    "GET,HTTPS://b:8/c,b:8,https,/c",
    "GET,http://b?c,b,http,/?c",
    "OPTIONS,http://b,b,http,*",
    "OPTIONS,*,a:80,http,*",
    "CONNECT,b:443,b:443,http,''",
    "GET,/http://b/,a:80,http,/http://b/"
  })
  void targetsHaveParts(
      String method, String target, String authority, String scheme, String path) {
    var head = RequestHead.of(method, target, Fields.of("Host", "a:80"));
    for (var it : List.of(head, head.copy())) {
      assertEquals(target, it.target());
      assertEquals(authority, it.authority());
      assertEquals(scheme, it.scheme());
      assertEquals(path, it.path());
    }
  }
}

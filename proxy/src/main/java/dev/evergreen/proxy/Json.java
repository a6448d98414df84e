package dev.evergreen.proxy;

import java.util.Collection;
import java.util.Map;

/** Writes JSON of maps, lists, texts and numbers. */
final class Json {

  private Json() {}

  static String of(Object value) {
    var into = new StringBuilder();
    write(value, into);
    return into.toString();
  }

  private static void write(Object value, StringBuilder into) {
    switch (value) {
      case Map<?, ?> map -> {
        var between = "{";
        for (var entry : map.entrySet()) {
          into.append(between);
          quote(String.valueOf(entry.getKey()), into);
          into.append(':');
          write(entry.getValue(), into);
          between = ",";
        }
        into.append(map.isEmpty() ? "{}" : "}");
      }
      case Collection<?> list -> {
        var between = "[";
        for (var each : list) {
          into.append(between);
          write(each, into);
          between = ",";
        }
        into.append(list.isEmpty() ? "[]" : "]");
      }
      case Number number -> into.append(number);
      case Boolean flag -> into.append(flag);
      default -> quote(value.toString(), into);
    }
  }

  private static void quote(String text, StringBuilder into) {
    into.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        into.append('\\').append(c);
      } else if (c < ' ' || c == 0x7F || c == '<') {
        into.append(String.format("\\u%04x", (int) c));
      } else {
        into.append(c);
      }
    }
    into.append('"');
  }
}

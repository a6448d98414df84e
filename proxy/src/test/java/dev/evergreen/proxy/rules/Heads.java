package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;

/** Heads for tests, of texts such as "200 | Cache-Control: max-age=60 | Age: 3". */
final class Heads {

  /** Mon, 23 Nov 2026 12:00:00 GMT. */
  static final long NOW = 1_795_435_200_000L;

  static final String DATE = HttpDate.format(NOW);

  private Heads() {}

  /** Such as "GET /path | Host: a". NOW stands for the date. */
  static RequestHead request(String text) {
    var parts = text.split("\\|", -1);
    var first = parts[0].strip().split(" ", -1);
    return RequestHead.of(first[0], first.length > 1 ? first[1] : "/", fields(parts));
  }

  static ResponseHead response(String text) {
    var parts = text.split("\\|", -1);
    return ResponseHead.of(Integer.parseInt(parts[0].strip()), fields(parts));
  }

  /** Such as " | A: b | C: d". */
  static Fields fields(String text) {
    return fields(("x" + text).split("\\|", -1));
  }

  private static Fields fields(String[] parts) {
    var fields = new Fields();
    for (int i = 1; i < parts.length; i++) {
      int colon = parts[i].indexOf(':');
      fields.add(
          parts[i].substring(0, colon).strip(), dates(parts[i].substring(colon + 1).strip()));
    }
    return fields;
  }

  /** NOW, NOW-60, NOW+60 as dates. */
  private static String dates(String value) {
    if (!value.matches("NOW([+-]\\d+)?")) {
      return value;
    }
    long seconds = value.length() == 3 ? 0 : Long.parseLong(value.substring(3));
    return HttpDate.format(NOW + 1000 * seconds);
  }
}

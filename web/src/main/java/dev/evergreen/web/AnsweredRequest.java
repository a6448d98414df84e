package dev.evergreen.web;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;

/**
 * A request whose answer has been taken, for a log of requests. What a query or a body says is left
 * out, as it may be of people.
 *
 * @param began when its line and headers had come
 * @param took until the answer had been taken; that of a live connection ends with it
 * @param remoteAddress of the client, also behind a proxy that is {@linkplain
 *     WebServer.Builder#behind named}
 * @param caller the name of whoever has signed in, if that was asked
 * @param method as the client wrote it
 * @param path as the client wrote it
 * @param route what the application calls it: the path of a route, a command or a view; empty for
 *     files and for what is not there
 * @param bytes of the answer's body
 */
public record AnsweredRequest(
    Instant began,
    Duration took,
    String remoteAddress,
    Optional<String> caller,
    String method,
    String path,
    String route,
    int status,
    long bytes) {

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss Z", Locale.ROOT).withZone(ZoneOffset.UTC);

  /** The line that web servers have always written of a request (NCSA common log format). */
  public String line() {
    return "%s - %s [%s] \"%s %s\" %d %s"
        .formatted(
            remoteAddress,
            caller.map(AnsweredRequest::safe).orElse("-"),
            TIME.format(began),
            safe(method),
            safe(path),
            status,
            bytes == 0 ? "-" : Long.toString(bytes));
  }

  /** So that nobody can write lines and fields of his own. */
  private static String safe(String text) {
    var safe = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean special = c <= ' ' || c == '"' || c == '\\' || Character.isISOControl(c);
      safe.append(special ? "\\x%02X".formatted((int) c) : String.valueOf(c));
    }
    return safe.toString();
  }
}

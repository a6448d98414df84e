package dev.evergreen.web;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The answer to a request. Immutable. */
public final class Reply {

  /** A header line. */
  record Header(String name, String value) {}

  private static final String SET_COOKIE = "Set-Cookie";

  private final int status;
  private final @Nullable String contentType;
  private final @Nullable Object json;
  private final byte[] body;
  private final List<Header> headers;

  private Reply(
      int status,
      @Nullable String contentType,
      @Nullable Object json,
      byte[] body,
      List<Header> headers) {
    if (status < 200 || status > 599) {
      throw new IllegalArgumentException("A status is 200 to 599, not " + status + ".");
    }
    this.status = status;
    this.contentType = contentType;
    this.json = json;
    this.body = body;
    this.headers = headers;
  }

  /** Status 200 with the value as JSON. */
  public static Reply json(Object value) {
    return new Reply(200, "application/json", value, new byte[0], List.of());
  }

  /** Status 200 with plain text. */
  public static Reply text(String text) {
    return bytes("text/plain;charset=utf-8", text.getBytes(StandardCharsets.UTF_8));
  }

  /** Status 200 with a page. */
  public static Reply html(String html) {
    return bytes("text/html;charset=utf-8", html.getBytes(StandardCharsets.UTF_8));
  }

  /** Status 200 with these bytes, which must not be changed afterwards. */
  public static Reply bytes(String contentType, byte[] body) {
    return new Reply(200, contentType, null, body, List.of());
  }

  /** Status 204. */
  public static Reply noContent() {
    return new Reply(204, null, null, new byte[0], List.of());
  }

  /** Status 303 to another address of this server. */
  public static Reply seeOther(String path) {
    return noContent().withStatus(303).withHeader("Location", path);
  }

  /** The same with another status, 200 to 599. */
  public Reply withStatus(int value) {
    return new Reply(value, contentType, json, body, headers);
  }

  /** The same with a header more. */
  public Reply withHeader(String name, String value) {
    if (value.indexOf('\r') >= 0 || value.indexOf('\n') >= 0) {
      throw new IllegalArgumentException("The header " + name + " must not have a line break.");
    }
    var more = new ArrayList<>(headers);
    more.add(new Header(name, value));
    return new Reply(status, contentType, json, body, List.copyOf(more));
  }

  /**
   * The same, and sets a cookie with {@code HttpOnly}, {@code SameSite=Strict} and {@code Path=/}.
   *
   * @param value letters, digits, '-', '_', '.' and '='
   * @param maxAge how long the browser keeps it; zero deletes it
   * @param secure whether the browser sends it over HTTPS only
   */
  public Reply withCookie(String name, String value, Duration maxAge, boolean secure) {
    if (!value.matches("[A-Za-z0-9._=-]*")) {
      throw new IllegalArgumentException(
          "The value of cookie " + name + " has characters other than letters, digits and -_.=");
    }
    return withHeader(
        SET_COOKIE,
        name
            + "="
            + value
            + "; Path=/; Max-Age="
            + maxAge.toSeconds()
            + "; HttpOnly; SameSite=Strict"
            + (secure ? "; Secure" : ""));
  }

  /** Whether it sets or deletes the cookie of this name. */
  boolean setsCookie(String name) {
    return headers.stream()
        .anyMatch(
            header -> header.name().equals(SET_COOKIE) && header.value().startsWith(name + "="));
  }

  int status() {
    return status;
  }

  @Nullable String contentType() {
    return contentType;
  }

  @Nullable Object json() {
    return json;
  }

  byte[] body() {
    return body;
  }

  List<Header> headers() {
    return headers;
  }
}

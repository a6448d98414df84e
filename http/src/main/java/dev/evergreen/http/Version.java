package dev.evergreen.http;

/** The versions of HTTP that are spoken. */
public enum Version {
  /** HTTP/1.0. */
  HTTP_1_0("HTTP/1.0"),
  /** HTTP/1.1. */
  HTTP_1_1("HTTP/1.1"),
  /** HTTP/2. */
  HTTP_2("HTTP/2");

  private final String text;

  Version(String text) {
    this.text = text;
  }

  /** As in a first line, such as "HTTP/1.1". */
  @Override
  public String toString() {
    return text;
  }
}

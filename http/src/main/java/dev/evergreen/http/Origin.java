package dev.evergreen.http;

import org.jspecify.annotations.Nullable;

/**
 * Where requests are sent.
 *
 * @param secure whether by TLS
 * @param host a name, or an address without brackets
 * @param port from 1 to 65,535
 */
public record Origin(boolean secure, String host, int port) {

  public Origin {
    if (host.isEmpty() || port < 1 || port > 65_535) {
      throw new IllegalArgumentException("there is no origin at '" + host + "', port " + port);
    }
  }

  /**
   * Reads an authority, such as "host:8080" or "[::1]".
   *
   * @param otherwise its port, if it says none; -1 if it must say one
   * @return null if there can be no such origin
   */
  public static @Nullable Origin parse(boolean secure, String authority, int otherwise) {
    int colon = authority.lastIndexOf(':');
    boolean told = colon > authority.lastIndexOf(']') && colon + 1 < authority.length();
    var digits = told ? authority.substring(colon + 1) : "";
    var name = colon > authority.lastIndexOf(']') ? authority.substring(0, colon) : authority;
    var host = name.startsWith("[") ? name.substring(1, name.length() - 1) : name;
    int port = told && digits.matches("[0-9]{1,5}") ? Integer.parseInt(digits) : otherwise;
    boolean good = !host.isEmpty() && port >= 1 && port <= 65_535 && (!told || digits.length() < 6);
    return good ? new Origin(secure, host, port) : null;
  }

  /** The value of Host for it: without the port, if that is the scheme's. */
  public String authority() {
    var name = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return port == (secure ? 443 : 80) ? name : name + ":" + port;
  }

  /** As in a URI, such as "http://host:8080". */
  @Override
  public String toString() {
    var name = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return (secure ? "https://" : "http://") + name + ":" + port;
  }
}

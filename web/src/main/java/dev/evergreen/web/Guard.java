package dev.evergreen.web;

import java.net.InetAddress;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/** Who may talk to this server at all, and what its answers say about themselves. */
final class Guard {

  private static final Set<String> LOOPBACK_NAMES =
      Set.of("localhost", "127.0.0.1", "[::1]", "::1");

  private static final Pattern IPV4 = Pattern.compile("[0-9]{1,3}([.][0-9]{1,3}){3}");

  /** Of a page of the web, or of an app such as {@code capacitor://localhost}. */
  private static final Pattern ORIGIN =
      Pattern.compile("null|https?://[^/?#@\\sA-Z]+|(?!https?:)[a-z][a-z0-9+.-]*://[^/?#@\\s]*");

  private final boolean loopback;
  private final Set<String> hosts;
  private final Set<String> origins;
  private final String contentSecurityPolicy;

  Guard(InetAddress bound, Set<String> hosts, Set<String> origins, String contentSecurityPolicy) {
    this.loopback = bound.isLoopbackAddress();
    this.hosts = hosts;
    this.origins = origins;
    this.contentSecurityPolicy = contentSecurityPolicy;
  }

  /** What every answer carries; harmless where it does not apply. */
  void secure(HttpFields.Mutable headers) {
    headers.put("Content-Security-Policy", contentSecurityPolicy);
    headers.put("X-Content-Type-Options", "nosniff");
    headers.put("X-Frame-Options", "DENY");
    headers.put("Referrer-Policy", "same-origin");
    headers.put("Cross-Origin-Opener-Policy", "same-origin");
    headers.put("Cross-Origin-Resource-Policy", "same-origin");
  }

  /**
   * Refuses a page that has a name of its own point to this address (DNS rebinding): then the
   * browser believes page and server to be of one origin, but it still sends the page's name.
   *
   * @throws WebException 421
   */
  void checkHost(Request request) {
    var host = Request.getServerName(request);
    var name = host == null ? "" : host.toLowerCase(Locale.ROOT);
    boolean known =
        hosts.contains(name)
            || (loopback && LOOPBACK_NAMES.contains(name))
            || (!loopback && hosts.isEmpty() && isAddress(name));
    if (!known) {
      throw new WebException(
          421, "unknown-host", "This server is not known by that name; see allowedHosts.");
    }
  }

  /** Nobody can have an address point elsewhere, as one can a name. */
  private static boolean isAddress(String name) {
    return name.startsWith("[") || IPV4.matcher(name).matches();
  }

  /**
   * Refuses pages of foreign origins. Browsers send {@code Origin} with every WebSocket, with every
   * POST and with every foreign fetch; what comes without is no foreign page.
   *
   * @throws WebException 403
   */
  void checkOrigin(Request request) {
    var origin = request.getHeaders().get(HttpHeader.ORIGIN);
    if (origin != null && !isOwn(request, origin) && !origins.contains(origin)) {
      throw foreign("the origin '" + origin + "'", "name it");
    }
    var site = request.getHeaders().get("Sec-Fetch-Site");
    if (origin == null && ("cross-site".equals(site) || "same-site".equals(site))) {
      throw foreign("another origin", "name that");
    }
  }

  private static WebException foreign(String whose, String remedy) {
    return new WebException(
        403,
        "foreign-origin",
        "Pages of %s may not use this server. If they shall, %s in the setting allowed-origins."
            .formatted(whose, remedy));
  }

  /**
   * Whether a page of this origin came from this server. Whether by http or https is not compared,
   * as TLS may end at a proxy; what came by anything else, such as an app's files by {@code
   * capacitor://localhost}, did not come from here, whatever its host is called.
   */
  private static boolean isOwn(Request request, String origin) {
    var host = request.getHeaders().get(HttpHeader.HOST);
    return host != null
        && (origin.equalsIgnoreCase("http://" + host)
            || origin.equalsIgnoreCase("https://" + host));
  }

  /**
   * Checks how an origin is written: as browsers do, since it is compared with what they send.
   *
   * @throws IllegalArgumentException if they never send it
   */
  static String checkWritten(String origin) {
    if (!ORIGIN.matcher(origin).matches()) {
      throw new IllegalArgumentException(
          "An origin is written as https://app.example.org, without a path, or as null; not '"
              + origin
              + "'.");
    }
    return origin;
  }

  /** Lets pages of the configured origins read the answer. */
  void allowForeignReader(Request request, HttpFields.Mutable headers) {
    var origin = foreignButAllowed(request);
    if (origin != null) {
      headers.put("Access-Control-Allow-Origin", origin);
      headers.put("Access-Control-Allow-Credentials", "true");
      headers.put("Access-Control-Expose-Headers", "ETag, Evergreen-Freshness, Retry-After");
      headers.put("Cross-Origin-Resource-Policy", "cross-origin");
      headers.add(HttpHeader.VARY, "Origin");
    }
  }

  /** Answers a browser that asks whether a page may send a request; false if it may not. */
  boolean preflight(Request request, HttpFields.Mutable headers) {
    if (foreignButAllowed(request) == null) {
      return false;
    }
    headers.put("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE");
    headers.put("Access-Control-Allow-Headers", "Content-Type, If-None-Match, Last-Event-ID");
    headers.put("Access-Control-Max-Age", "600");
    return true;
  }

  private @Nullable String foreignButAllowed(Request request) {
    var origin = request.getHeaders().get(HttpHeader.ORIGIN);
    return origin != null && origins.contains(origin) ? origin : null;
  }
}

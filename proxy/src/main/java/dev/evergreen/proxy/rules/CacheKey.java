package dev.evergreen.proxy.rules;

import dev.evergreen.http.RequestHead;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/** The URI of a request in the one form that is both key and forwarded (RFC 9111 §2). */
public final class CacheKey {

  /** Scheme, authority, path with query. */
  private static final Pattern WRITTEN =
      Pattern.compile("(?i)(https?)://([^/?#\\x00- \\x7f]*)((?:[/?][^#\\x00- \\x7f]*)?)");

  private CacheKey() {}

  /**
   * The whole URI of a request: scheme and host in lower case, without a default port; path and
   * query as they are.
   */
  public static String of(RequestHead request) {
    return of(request.scheme(), request.authority(), request.path());
  }

  /** The same of its parts. It has no blank, so what stands before one tells keys apart. */
  public static String of(String scheme, String authority, String path) {
    return scheme + "://" + normal(scheme, authority) + path;
  }

  /** An authority in lower case, without the scheme's own port. */
  public static String normal(String scheme, String authority) {
    var lower = authority.toLowerCase(Locale.ROOT);
    var port = scheme.equals("https") ? ":443" : ":80";
    if (lower.endsWith(port)) {
      return lower.substring(0, lower.length() - port.length());
    }
    return lower.endsWith(":") ? lower.substring(0, lower.length() - 1) : lower;
  }

  /**
   * The key of a URI as people write it.
   *
   * @return empty if no request can have it
   */
  public static Optional<String> ofUri(String uri) {
    var parts = WRITTEN.matcher(uri);
    if (!parts.matches() || parts.group(2).isEmpty()) {
      return Optional.empty();
    }
    var path = parts.group(3);
    var scheme = parts.group(1).toLowerCase(Locale.ROOT);
    return Optional.of(of(scheme, parts.group(2), path.startsWith("/") ? path : "/" + path));
  }

  /**
   * What the keys of all URIs begin with that begin so. As long as a host and port may go on, they
   * are taken as they are but for their case.
   *
   * @return empty if no request can have such a URI
   */
  public static Optional<String> ofPrefix(String prefix) {
    var parts = WRITTEN.matcher(prefix);
    if (parts.matches() && !parts.group(3).isEmpty()) {
      return ofUri(prefix);
    }
    var lower = prefix.toLowerCase(Locale.ROOT);
    boolean can = parts.matches() || "http://".startsWith(lower) || "https://".startsWith(lower);
    return can ? Optional.of(lower) : Optional.empty();
  }

  /**
   * The key of a URI that a field names, if that has the same origin (RFC 9111 §4.4).
   *
   * @param key of the request; what stands before a blank stays there
   * @param reference absolute or relative
   */
  public static Optional<String> resolve(String key, String reference) {
    int begin = key.indexOf(' ') + 1;
    return resolveUri(key.substring(begin), reference).map(key.substring(0, begin)::concat);
  }

  private static Optional<String> resolveUri(String key, String reference) {
    try {
      var uri = new URI(key).resolve(new URI(reference));
      if (uri.getScheme() == null || uri.getRawAuthority() == null) {
        return Optional.empty();
      }
      var path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
      var query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
      var resolved =
          of(uri.getScheme().toLowerCase(Locale.ROOT), uri.getRawAuthority(), path + query);
      return origin(resolved).equals(origin(key)) ? Optional.of(resolved) : Optional.empty();
    } catch (URISyntaxException | IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** The part of a key that is its origin, such as "http://host:8080". */
  public static String origin(String key) {
    int path = key.indexOf('/', key.indexOf("://") + 3);
    return path < 0 ? key : key.substring(0, path);
  }
}

package dev.evergreen.proxy.rules;

import dev.evergreen.http.RequestHead;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
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
    var port = ownPort(scheme.equals("https"));
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
   * What the keys of all URIs begin with that begin so, each with one of these. As long as a host
   * and port may go on, they are taken as they are but for their case. If that may become the
   * scheme's own port, it is that, too: {@code http://host:8} begins {@code http://host:80/}.
   *
   * @return none if no request can have such a URI
   */
  public static List<String> ofPrefix(String prefix) {
    var parts = WRITTEN.matcher(prefix);
    boolean isWhole = parts.matches();
    if (isWhole && !parts.group(3).isEmpty()) {
      return ofUri(prefix).stream().toList();
    }
    var lower = prefix.toLowerCase(Locale.ROOT);
    int port = isWhole ? beginOfOwnPort(lower) : -1;
    if (port > 0) {
      return List.of(lower, lower.substring(0, port) + "/");
    }
    boolean can = isWhole || "http://".startsWith(lower) || "https://".startsWith(lower);
    return can ? List.of(lower) : List.of();
  }

  /** Where the scheme's own port begins, or -1 if the authority cannot go on so. */
  private static int beginOfOwnPort(String uri) {
    int begin = uri.lastIndexOf(':');
    int host = uri.indexOf("://") + 3;
    boolean isOwn = ownPort(uri.startsWith("https")).startsWith(uri.substring(begin));
    boolean isBehindHost =
        begin > host && (uri.charAt(host) != '[' || uri.charAt(begin - 1) == ']');
    return isOwn && isBehindHost ? begin : -1;
  }

  private static String ownPort(boolean secure) {
    return secure ? ":443" : ":80";
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

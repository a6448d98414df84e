package dev.evergreen.proxy.rules;

import dev.evergreen.http.RequestHead;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The URI of a request in the one form that is both key and forwarded (RFC 9111 §2). */
public final class CacheKey {

  /** Scheme, authority, path with query. */
  private static final Pattern WRITTEN =
      Pattern.compile("(?i)(https?)://([^/?#\\x00- \\x7f]*)((?:[/?][^#\\x00- \\x7f]*)?)");

  /** RFC 3986 appendix B; with what may be in a request's target, and a fragment that is none. */
  private static final Pattern REFERENCE =
      Pattern.compile(
          "(?:([^:/?#]+):)?(?://([!-~&&[^/?#]]*))?([!-~&&[^?#]]*)(\\?[!-~&&[^#]]*)?(?:#.*)?");

  private static final int SCHEME = 1;
  private static final int AUTHORITY = 2;
  private static final int PATH = 3;
  private static final int QUERY = 4;

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
   * The key of a URI that a field names, if that has the same origin (RFC 9111 §4.4). It is found
   * as clients find what they ask for next, in whatever characters a request may have (RFC 3986
   * §5.2).
   *
   * @param key of the request
   * @param reference absolute or relative
   */
  public static Optional<String> resolve(String key, String reference) {
    var base = REFERENCE.matcher(key);
    var parts = REFERENCE.matcher(reference);
    if (!base.matches() || !parts.matches()) {
      return Optional.empty();
    }
    var scheme = parts.group(SCHEME);
    boolean isWhole = scheme != null || parts.group(AUTHORITY) != null;
    var authority = isWhole ? parts.group(AUTHORITY) : base.group(AUTHORITY);
    if (authority == null) {
      return Optional.empty();
    }
    var resolved =
        of(
            (scheme == null ? base.group(SCHEME) : scheme).toLowerCase(Locale.ROOT),
            authority,
            target(base, parts, isWhole));
    return origin(resolved).equals(origin(key)) ? Optional.of(resolved) : Optional.empty();
  }

  /** The path and the query. */
  private static String target(Matcher base, Matcher reference, boolean isWhole) {
    var path = reference.group(PATH);
    var query = reference.group(QUERY);
    if (path.isEmpty() && !isWhole) {
      return base.group(PATH) + (query == null ? orNothing(base.group(QUERY)) : query);
    }
    boolean isRooted = isWhole || path.startsWith("/");
    var folder = base.group(PATH).substring(0, base.group(PATH).lastIndexOf('/') + 1);
    return withoutDots(isRooted ? path : folder + path) + orNothing(query);
  }

  private static String orNothing(@Nullable String text) {
    return text == null ? "" : text;
  }

  /** RFC 3986 §5.2.4, of a path from the root. */
  private static String withoutDots(String path) {
    var kept = new ArrayList<String>();
    var segments = path.substring(path.startsWith("/") ? 1 : 0).split("/", -1);
    for (int i = 0; i < segments.length; i++) {
      boolean up = segments[i].equals("..");
      boolean stays = segments[i].equals(".");
      if (up && !kept.isEmpty()) {
        kept.removeLast();
      }
      if (!up && !stays) {
        kept.add(segments[i]);
      } else if (i == segments.length - 1) {
        kept.add(""); // It is a folder.
      }
    }
    return "/" + String.join("/", kept);
  }

  /** The part of a key that is its origin, such as "http://host:8080". */
  public static String origin(String key) {
    int path = key.indexOf('/', key.indexOf("://") + 3);
    return path < 0 ? key : key.substring(0, path);
  }
}

package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The head of a request: its method, its target, and its fields. For HTTP/2 the target is what the
 * same request has in HTTP/1.1, and Host is among the fields.
 *
 * <p>The head of an {@link Exchange} is used again for the next request of its connection: who
 * needs it for longer makes a {@linkplain #copy copy}.
 */
public final class RequestHead {
  private String method;
  private Version version;
  private final Fields fields;
  private boolean secure;
  private boolean extendedConnect;

  /** The scheme that a request of HTTP/2 names, in small letters; empty if there is none. */
  private String named = "";

  private byte[] target;
  private int targetLength;
  private @Nullable String targetText;

  // Where the parts of the target are; an authority that is empty is not in it.
  private int authorityAt;
  private int authorityEnd;
  private int pathAt;

  /** The last that was asked for: one connection's requests mostly have the same. */
  private String lastAuthority = "";

  private RequestHead(Fields fields) {
    this.fields = fields;
    method = "GET";
    version = Version.HTTP_1_1;
    target = new byte[64];
  }

  /** One to be filled by a parser: a small one, as each connection at rest keeps its own. */
  static RequestHead empty() {
    return new RequestHead(new Fields(128, 8));
  }

  /**
   * A request without fields, by HTTP/1.1.
   *
   * @param target as in a request's first line: "/path?query", a whole URI, "host:port" for
   *     CONNECT, or "*"
   * @throws IllegalArgumentException if the method is no token, or the target has blanks, controls
   *     or other characters than those of ASCII
   */
  public static RequestHead of(String method, String target) {
    return of(method, target, new Fields());
  }

  /** A request with fields, by HTTP/1.1; see {@link #of(String, String)}. */
  public static RequestHead of(String method, String target, Fields fields) {
    return new RequestHead(fields).method(method).target(target);
  }

  /** A copy that can be kept and changed. */
  public RequestHead copy() {
    var made = new RequestHead(fields.copy());
    made.method = method;
    made.version = version;
    made.secure = secure;
    made.named = named;
    made.targetText = targetText;
    made.target(target, 0, targetLength);
    return made;
  }

  /** The method, such as "GET". */
  public String method() {
    return method;
  }

  /** Whether it is of a method; names of methods have a case. */
  public boolean is(String name) {
    return method.equals(name);
  }

  /** Gives it another method. */
  public RequestHead method(String name) {
    if (!Characters.isToken(name)) {
      throw new IllegalArgumentException("'" + name + "' cannot be a method");
    }
    method = name;
    return this;
  }

  /** By which version it came; HTTP/1.1 for one that was made here. */
  public Version version() {
    return version;
  }

  /** Says by which version it came. */
  public RequestHead version(Version by) {
    version = by;
    return this;
  }

  /** The target as it was sent. */
  public String target() {
    var text = targetText;
    if (text == null) {
      text = new String(target, 0, targetLength, ISO_8859_1);
      targetText = text;
    }
    return text;
  }

  /** Gives it another target. */
  public RequestHead target(String text) {
    Objects.requireNonNull(text);
    var bytes = text.getBytes(ISO_8859_1);
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) > 0xff || !Characters.isTarget(text.charAt(i))) {
        throw new IllegalArgumentException("'" + text + "' cannot be the target of a request");
      }
    }
    if (bytes.length == 0) {
      throw new IllegalArgumentException("a request needs a target");
    }
    target(bytes, 0, bytes.length);
    targetText = text;
    return this;
  }

  /** Takes a copy of a target whose bytes were checked. */
  void target(byte[] from, int at, int length) {
    if (target.length < length) {
      target = new byte[Math.max(length, 2 * target.length)];
    }
    System.arraycopy(from, at, target, 0, length);
    targetLength = length;
    targetText = null;
    findParts();
  }

  /** Takes a copy of a target; answers whether it is one, of the bytes that may be in it. */
  boolean target(ByteBuffer from, int at, int length) {
    if (target.length < length) {
      target = new byte[Math.max(length, 2 * target.length)];
    }
    from.get(at, target, 0, length);
    targetLength = length;
    targetText = null;
    for (int i = 0; i < length; i++) {
      if (!Characters.isTarget(target[i])) {
        return false;
      }
    }
    findParts();
    return true;
  }

  byte[] targetBytes() {
    return target;
  }

  int authorityAt() {
    return authorityAt;
  }

  int authorityEnd() {
    return authorityEnd;
  }

  private void findParts() {
    authorityAt = 0;
    authorityEnd = 0;
    pathAt = 0;
    if (target[0] == '/' || (targetLength == 1 && target[0] == '*')) {
      return;
    }
    if (is("CONNECT")) {
      authorityEnd = targetLength;
      pathAt = targetLength;
      return;
    }
    int i = 0;
    while (i + 2 < targetLength
        && !(target[i] == ':' && target[i + 1] == '/' && target[i + 2] == '/')) {
      i++;
    }
    if (i + 2 < targetLength) {
      authorityAt = i + 3;
      authorityEnd = authorityAt;
      while (authorityEnd < targetLength
          && target[authorityEnd] != '/'
          && target[authorityEnd] != '?'
          && target[authorityEnd] != '#') {
        authorityEnd++;
      }
      pathAt = authorityEnd;
    }
  }

  /** Whether the target is a whole URI ({@code http://host/path}). */
  public boolean isAbsolute() {
    return authorityAt > 0;
  }

  /**
   * The scheme in small letters: that of a target that is a whole URI, else that of the connection,
   * "https" with TLS and "http" without.
   */
  public String scheme() {
    if (isAbsolute()) {
      return target().substring(0, authorityAt - 3).toLowerCase(Locale.ROOT);
    }
    return secure ? "https" : "http";
  }

  /** Says which scheme a request of HTTP/2 names, in small letters. */
  RequestHead named(String scheme) {
    named = scheme;
    return this;
  }

  /**
   * Whether it says what scheme the URI has that it is for: by a target that is a whole URI, or by
   * HTTP/2, where all but CONNECT do (RFC 9113 §8.3.1).
   */
  public boolean namesScheme() {
    return isAbsolute() || !named.isEmpty();
  }

  /**
   * The scheme of the URI that it is for, in small letters: that which it {@linkplain #namesScheme
   * names}, else that of the connection. Only to a proxy may these two be different.
   */
  public String namedScheme() {
    return named.isEmpty() ? scheme() : named;
  }

  /** Says whether it came by TLS. */
  public RequestHead secure(boolean byTls) {
    secure = byTls;
    return this;
  }

  /** Says whether it stands for an extended CONNECT of HTTP/2 (RFC 8441). */
  RequestHead extendedConnect(boolean stands) {
    extendedConnect = stands;
    return this;
  }

  boolean isExtendedConnect() {
    return extendedConnect;
  }

  /** Whether it came by TLS. */
  public boolean secure() {
    return secure;
  }

  /**
   * Whom it is for, such as "host:8080": that of a target that has one, which counts more than
   * Host, else the value of Host; empty if there is none.
   */
  public String authority() {
    int line = authorityEnd > authorityAt ? -1 : fields.find("host");
    byte[] in = line < 0 ? target : fields.bytes();
    int at = line < 0 ? authorityAt : fields.valueAt(line);
    int length = line < 0 ? authorityEnd - authorityAt : fields.valueLength(line);
    if (!isText(lastAuthority, in, at, length)) {
      lastAuthority = new String(in, at, length, ISO_8859_1);
    }
    return lastAuthority;
  }

  private static boolean isText(String text, byte[] in, int at, int length) {
    if (text.length() != length) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      if (text.charAt(i) != (in[at + i] & 0xff)) {
        return false;
      }
    }
    return true;
  }

  /**
   * The path with its query: "/" and what follows, "*" of OPTIONS, and empty for CONNECT. That of a
   * whole URI without a path is "/", or "*" if the method is OPTIONS (RFC 9112 §3.2.4).
   */
  public String path() {
    if (pathAt == 0) {
      return target();
    }
    if (is("CONNECT")) {
      return "";
    }
    if (pathAt == targetLength) {
      return is("OPTIONS") ? "*" : "/";
    }
    var text = target().substring(pathAt);
    return text.startsWith("/") ? text : "/" + text;
  }

  /** How many bytes the target has. */
  public int targetLength() {
    return targetLength;
  }

  /** A byte of the target, for those who must not allocate. */
  public byte targetByte(int i) {
    return target[i];
  }

  /**
   * Where in the target's bytes the path begins; 0 if the target has nothing else. From there to
   * the end are the path and the query of a whole URI, which may be empty.
   */
  public int pathStart() {
    return pathAt;
  }

  /** The fields; they may be changed. */
  public Fields fields() {
    return fields;
  }

  /** How many bytes the head has by HTTP/1.1. */
  int size() {
    return method.length() + 1 + targetLength + 11 + fields.size() + 2;
  }

  /** Writes the first line, with its CR LF. */
  void putLine(ByteBuffer into) {
    Text.put(into, method);
    into.put((byte) ' ').put(target, 0, targetLength);
    Text.put(into, version == Version.HTTP_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  }

  /** The head as it would be sent by HTTP/1.1. */
  @Override
  public String toString() {
    return method + " " + target() + " " + version + "\r\n" + fields + "\r\n";
  }
}

package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.evergreen.http.Http2Exception.Code;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception.HeaderListSizeException;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Heads of HTTP/2: reads them by the rules of RFC 9113 §8, which are stricter than those of
 * HTTP/1.1, before they are taken for anything; and makes those that are sent. HPACK is Netty's.
 */
final class Http2Heads {
  /** RFC 6455 §1.3. */
  private static final String WEB_SOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

  private final HttpSettings settings;
  private final Decoder decoder;

  Http2Heads(HttpSettings settings) {
    this.settings = settings;
    decoder = new Decoder(settings.fieldBytes());
  }

  /** A field as it came. */
  private record Line(CharSequence name, CharSequence value) {}

  /** Keeps the order in which fields came: Netty's own would put pseudo-fields first. */
  private static final class Lines extends DefaultHttp2Headers {
    private final List<Line> lines = new ArrayList<>(16);

    Lines() {
      super(false);
    }

    @Override
    public Http2Headers add(CharSequence name, CharSequence value) {
      lines.add(new Line(name, value));
      return this;
    }
  }

  private static final class Decoder extends DefaultHttp2HeadersDecoder {
    Decoder(int most) {
      super(false, most);
    }

    @Override
    protected Http2Headers newHeaders() {
      return new Lines();
    }
  }

  /** A head that is sent. */
  static final class Head extends DefaultHttp2Headers {
    private static final int BESIDE = 20;

    private Set<String> neverIndexed = Set.of();

    Head(int lines) {
      super(false, lines);
    }

    /** The names of those that are kept out of tables, beside credentials. */
    Set<String> neverIndexed() {
      return neverIndexed;
    }

    /** As long as its frames are at most: HPACK needs a few bytes beside each text. */
    int mostBytes() {
      int most = BESIDE;
      for (var field : this) {
        most += field.getKey().length() + field.getValue().length() + BESIDE;
      }
      return most + most / 1024;
    }

    /** Adds the fields that HTTP/2 has. */
    void add(Fields fields) {
      boolean lists = fields.has("connection");
      for (int line = 0; line < fields.count(); line++) {
        if (!Hops.isDropped(fields, line, lists)) {
          add(
              new AsciiString(fields.bytes(), fields.nameAt(line), fields.nameLength(line), false)
                  .toLowerCase(),
              new AsciiString(
                  fields.bytes(), fields.valueAt(line), fields.valueLength(line), true));
        }
      }
      if (!fields.neverIndexed().isEmpty()) {
        neverIndexed = fields.neverIndexed();
      }
    }
  }

  /** A head that was read: its pseudo-fields, and the others. */
  static final class Block {
    private final int stream;
    private final Fields fields = new Fields();
    private @Nullable String method;
    private @Nullable String scheme;
    private @Nullable String authority;
    private @Nullable String path;
    private @Nullable String protocol;
    private @Nullable String status;
    private boolean tooLarge;

    /** The pieces of the cookie; null if there is none. */
    private @Nullable StringBuilder cookies;

    Block(int stream) {
      this.stream = stream;
    }

    /** Whether it is beyond the limits, so that not all of it is here. */
    boolean tooLarge() {
      return tooLarge;
    }

    Fields fields() {
      return fields;
    }

    private Http2Exception malformed(String what) {
      return Http2Exception.ofStream(stream, Code.PROTOCOL_ERROR, what);
    }

    private void add(Line line, HttpSettings settings) throws Http2Exception {
      var name = line.name;
      var value = line.value;
      if (!name.isEmpty() && name.charAt(0) == ':') {
        pseudo(name.toString(), value.toString());
        return;
      }
      for (int i = 0; i < name.length(); i++) {
        if (Characters.lower(name.charAt(i)) != name.charAt(i)) {
          throw malformed("a name with capital letters");
        }
      }
      if (fields.count() == settings.fieldCount()) {
        tooLarge = true;
        return;
      }
      try {
        addField(name, value);
      } catch (IllegalArgumentException e) {
        throw malformed("a field that cannot be");
      }
    }

    private void addField(CharSequence name, CharSequence value) throws Http2Exception {
      if (AsciiString.contentEquals("cookie", name)) {
        var before = cookies;
        if (before != null) {
          Fields.checkValue(name, value);
          before.append("; ").append(value);
          return;
        }
        cookies = new StringBuilder(value);
      }
      fields.add(name, value);
      int line = fields.count() - 1;
      boolean trailersOnly = fields.isNamed(line, "te") && fields.valueIs(line, "trailers");
      if (Hops.isDropped(fields, line, false)
          && !trailersOnly
          && !fields.isNamed(line, "content-length")) {
        throw malformed("a field that belongs to a connection");
      }
    }

    /** RFC 9113 §8.2.3; once, as there may be hundreds of pieces. */
    private void joinCookies() throws Http2Exception {
      var all = cookies;
      if (all != null && all.length() > fields.valueLength(fields.find("cookie"))) {
        try {
          fields.set("cookie", all);
        } catch (IllegalArgumentException e) {
          throw malformed("a cookie whose last piece is empty");
        }
      }
    }

    private void pseudo(String name, String value) throws Http2Exception {
      if (fields.count() > 0) {
        throw malformed("a pseudo-field behind others");
      }
      var before =
          switch (name) {
            case ":method" -> method;
            case ":scheme" -> scheme;
            case ":authority" -> authority;
            case ":path" -> path;
            case ":protocol" -> protocol;
            case ":status" -> status;
            default -> throw malformed("an unknown pseudo-field");
          };
      if (before != null) {
        throw malformed("a pseudo-field twice");
      }
      switch (name) {
        case ":method" -> method = value;
        case ":scheme" -> scheme = value;
        case ":authority" -> authority = value;
        case ":path" -> path = value;
        case ":protocol" -> protocol = value;
        default -> status = value;
      }
    }

    /** Checks that these are trailers. */
    Fields trailers() throws Http2Exception {
      if (status != null || isOfRequest()) {
        throw malformed("pseudo-fields in trailers");
      }
      Hops.removeFromTrailers(fields);
      return fields;
    }

    private boolean isOfRequest() {
      return method != null
          || scheme != null
          || authority != null
          || path != null
          || protocol != null;
    }

    /** Makes a response of it. */
    ResponseHead response() throws Http2Exception {
      var code = status;
      if (code == null || isOfRequest() || !code.matches("[1-5][0-9][0-9]")) {
        throw malformed("no status");
      }
      if (code.equals("101")) {
        throw malformed("HTTP/2 is not left");
      }
      return ResponseHead.of(Integer.parseInt(code), fields).version(Version.HTTP_2);
    }

    /** Makes a request of it. */
    RequestHead request(boolean secure) throws Http2Exception {
      var named = method;
      if (named == null || !Characters.isToken(named) || status != null) {
        throw malformed("no method");
      }
      if (protocol != null) {
        named = extendedConnect(named, protocol);
      }
      var head = RequestHead.of(named, "/", fields).version(Version.HTTP_2).secure(secure);
      try {
        head.target(target(named));
        Http1Heads.checkTarget(head);
        if (head.isAbsolute()) {
          throw malformed("a path is no URI");
        }
        setHost(head);
        head.extendedConnect(protocol != null);
        head.named(scheme == null ? "" : scheme.toLowerCase(Locale.ROOT));
        long _ = Framing.contentLength(fields);
      } catch (IllegalArgumentException | MalformedMessageException e) {
        throw malformed("no request can have this head");
      }
      return head;
    }

    /**
     * RFC 8441: an extended CONNECT is taken for the request with Upgrade that it stands for, whose
     * fields no request of HTTP/2 has.
     */
    private String extendedConnect(String named, String wanted) throws Http2Exception {
      if (!named.equals("CONNECT") || !Characters.isToken(wanted)) {
        throw malformed("a protocol of another method than CONNECT");
      }
      fields.add("connection", "upgrade").add("upgrade", wanted);
      if (wanted.equals("websocket")) {
        var key = new byte[16];
        ThreadLocalRandom.current().nextBytes(key);
        fields.set("sec-websocket-key", Base64.getEncoder().encodeToString(key));
      }
      return "GET";
    }

    private String target(String named) throws Http2Exception {
      if (named.equals("CONNECT")) {
        if (scheme != null || path != null || authority == null) {
          throw malformed("CONNECT has an authority only");
        }
        return authority;
      }
      if (!"http".equalsIgnoreCase(scheme) && !"https".equalsIgnoreCase(scheme)) {
        throw malformed("no scheme of HTTP");
      }
      if (path == null || path.isEmpty()) {
        throw malformed("no path");
      }
      return path;
    }

    private void setHost(RequestHead head) throws MalformedMessageException, Http2Exception {
      int host = fields.find("host");
      var meant = authority;
      if (meant == null && host < 0) {
        throw malformed("no authority");
      }
      if (meant != null) {
        if (meant.isEmpty()) {
          throw malformed("an empty authority"); // RFC 9110 §4.2.1
        }
        if (host >= 0 && (!fields.valueIs(host, meant) || fields.find("host", host + 1) >= 0)) {
          throw malformed("an authority that is not Host");
        }
        fields.set("host", meant);
      }
      Http1Heads.checkHost(head, true);
    }
  }

  /**
   * Reads a block of fields.
   *
   * @throws Http2Exception if it breaks a rule; of the connection if the table of fields is not
   *     known any more
   */
  Block read(int stream, byte[] bytes, int length) throws IOException {
    var block = new Block(stream);
    try {
      var lines = (Lines) decoder.decodeHeaders(stream, Unpooled.wrappedBuffer(bytes, 0, length));
      var neverIndexed = NeverIndexed.in(bytes, length);
      var names = neverIndexed.isEmpty() ? Set.<String>of() : new HashSet<String>();
      for (int i = 0; i < lines.lines.size(); i++) {
        var line = lines.lines.get(i);
        block.add(line, settings);
        if (neverIndexed.get(i) && !block.tooLarge) {
          names.add(line.name.toString());
        }
      }
      block.fields.neverIndex(names);
      block.joinCookies();
    } catch (HeaderListSizeException e) {
      block.tooLarge = true;
    } catch (io.netty.handler.codec.http2.Http2Exception e) {
      throw Http2Exception.ofConnection(Code.COMPRESSION_ERROR, "fields that cannot be read");
    }
    return block;
  }

  /** The head of a response, or of an informational one. */
  static Head response(int status, Fields fields) {
    var headers = new Head(fields.count() + 3);
    headers.status(Integer.toString(status));
    headers.add(fields);
    return headers;
  }

  /** The head of a request that is sent. */
  static Head request(RequestHead head, Origin to, long length) {
    var fields = head.fields();
    var headers = new Head(fields.count() + 6);
    headers.method(head.method()).scheme(to.secure() ? "https" : "http");
    var authority = head.authority();
    headers.authority(authority.isEmpty() ? to.authority() : authority).path(head.path());
    headers.add(fields);
    headers.remove("host");
    if (fields.hasMember("te", "trailers")) {
      headers.add("te", "trailers");
    }
    if (length > 0 || (length == 0 && fields.has("content-length"))) {
      headers.add("content-length", Long.toString(length));
    }
    return headers;
  }

  /** The extended CONNECT that a request for a WebSocket stands for (RFC 8441 §5). */
  static Head webSocket(RequestHead head, Origin to) {
    var headers = request(head, to, -1);
    headers.method("CONNECT").add(":protocol", "websocket");
    headers.remove("sec-websocket-key");
    return headers;
  }

  /** What an answer to that stands for (RFC 6455 §4.2.2). */
  static ResponseHead webSocketAccepted(ResponseHead head, String key) {
    var fields = head.fields();
    fields.set("connection", "upgrade").set("upgrade", "websocket");
    return ResponseHead.of(101, fields.set("sec-websocket-accept", accept(key)))
        .version(Version.HTTP_2);
  }

  /**
   * Checks the answer to a request that stands for an extended CONNECT. Its key was made here, so
   * nobody else sees whether the other side has read it (RFC 6455 §4.1).
   */
  static void checkAccepted(RequestHead asked, Fields answer) throws MalformedMessageException {
    if ("websocket".equals(asked.fields().get("upgrade"))) {
      var key = String.valueOf(asked.fields().get("sec-websocket-key"));
      if (!accept(key).equals(answer.get("sec-websocket-accept"))) {
        throw new MalformedMessageException("a WebSocket is accepted by another key");
      }
    }
  }

  private static String accept(String key) {
    try {
      var digest = MessageDigest.getInstance("SHA-1").digest((key + WEB_SOCKET).getBytes(US_ASCII));
      return Base64.getEncoder().encodeToString(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-1", e);
    }
  }

  /** Trailers, without those that cannot be. */
  static Head trailers(Fields fields) {
    var headers = new Head(fields.count() + 1);
    headers.add(fields);
    return headers;
  }

  /** Whether a head has anything besides its status. */
  static boolean isEmpty(Iterable<Map.Entry<CharSequence, CharSequence>> headers) {
    return !headers.iterator().hasNext();
  }
}

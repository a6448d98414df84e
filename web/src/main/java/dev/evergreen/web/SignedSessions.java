package dev.evergreen.web;

import dev.evergreen.core.Computation;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Sign-in by a cookie that carries the caller's name, roles, and when the session began and will be
 * over, signed with HMAC-SHA-256; every process with the same key accepts it. It is {@code
 * HttpOnly} and {@code SameSite=Strict}. Checking a password, if there is one, is the caller's job.
 *
 * <p>A session that is ended before its time is over everywhere: its cookie is refused, and its
 * live connections end on all nodes. {@linkplain #grains() Grains} remember that, so the node must
 * host them: {@code EmbeddedNode.builder().grains(SignedSessions.grains())}.
 */
public final class SignedSessions implements Authenticator {

  /** The name of the cookie. */
  public static final String COOKIE = "evergreen-session";

  private static final int KEY_BYTES = 32;
  private static final int ID_BYTES = 16;
  private static final int MAX_COOKIE = 2048;

  /**
   * The bytes of a name and its roles, so that the cookie is not too long: that is known before a
   * grain is made for the name.
   */
  private static final int MOST_OF_NAMES = 1400;

  /** In the id of a session between the generation and what is its own. */
  private static final char OF_GENERATION = '.';

  /**
   * Signed with each, so that what had another form, or is for something else, is none of these.
   */
  private static final byte[] PURPOSE = "evergreen-session 2\n".getBytes(StandardCharsets.US_ASCII);

  private static final SecureRandom RANDOM = new SecureRandom();

  private final Grains grains;
  private final SecretKeySpec key;
  private final Duration validFor;
  private final boolean secure;

  private SignedSessions(Grains grains, SecretKeySpec key, Duration validFor, boolean secure) {
    this.grains = grains;
    this.key = key;
    this.validFor = validFor;
    this.secure = secure;
  }

  /** The grain type that remembers which sessions were ended, for the nodes that host it. */
  public static GrainTypes grains() {
    return GrainTypes.create().add(SessionEnds.class, SessionEnds.Ends::new);
  }

  /**
   * Sessions that end when the process does, because nobody else knows the key.
   *
   * @param grains of a node, where {@link #grains()} are hosted
   */
  public static SignedSessions withRandomKey(Grains grains, Duration validFor) {
    return withKey(grains, random(KEY_BYTES), validFor);
  }

  /**
   * Sessions that all processes with this key accept.
   *
   * @param grains of a node, where {@link #grains()} are hosted
   * @param key at least 32 bytes, secret
   */
  public static SignedSessions withKey(Grains grains, byte[] key, Duration validFor) {
    if (key.length < KEY_BYTES) {
      throw new IllegalArgumentException(
          "The key must have at least " + KEY_BYTES + " bytes, not " + key.length + ".");
    }
    return new SignedSessions(grains, new SecretKeySpec(key, "HmacSHA256"), validFor, false);
  }

  /** The same, with cookies that browsers send over HTTPS only. */
  public SignedSessions secure() {
    return new SignedSessions(grains, key, validFor, true);
  }

  /** An answer that signs in; status 200 with {@code {"name": …}}. */
  public Reply signIn(String name) {
    return signIn(new Caller(name, Set.of()));
  }

  /**
   * As {@link #signIn(String)}, with roles.
   *
   * @throws WebException 400 if the name is empty, too long, no Unicode or has control characters
   */
  public Reply signIn(Caller caller) {
    var who = new ArrayList<String>();
    who.add(caller.name());
    who.addAll(new TreeSet<>(caller.roles()));
    if (!caller.signedIn()
        || bytes(who).length > MOST_OF_NAMES
        || who.stream().anyMatch(SignedSessions::isAmbiguous)) {
      throw badName();
    }
    var now = Instant.now();
    var fields = new ArrayList<String>();
    fields.add(Long.toString(now.toEpochMilli()));
    fields.add(Long.toString(now.plus(validFor).toEpochMilli()));
    fields.add(ends(caller).generation() + OF_GENERATION + randomText());
    fields.addAll(who);
    var payload = encode(bytes(fields));
    var cookie = payload + "." + encode(sign(payload));
    return Reply.json(Map.of("name", caller.name())).withCookie(COOKIE, cookie, validFor, secure);
  }

  private static byte[] bytes(List<String> lines) {
    return String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
  }

  private static WebException badName() {
    return new WebException(
        400,
        "bad-name",
        "A name must not be empty, very long, no Unicode, or have control characters.");
  }

  /** Whether a cookie would give back another text: half a character becomes a question mark. */
  private static boolean isAmbiguous(String field) {
    return field.chars().anyMatch(Character::isISOControl)
        || !StandardCharsets.UTF_8.newEncoder().canEncode(field);
  }

  /** Ends the request's session everywhere; an answer of status 204 that deletes the cookie. */
  public Reply signOut(Request request) {
    read(request).ifPresent(this::end);
    return Reply.noContent().withCookie(COOKIE, "", Duration.ZERO, secure);
  }

  private void end(Caller caller) {
    var session = caller.session().orElseThrow();
    ends(caller).end(session.id(), session.until());
  }

  /** Ends all sessions that anybody has by this name until now, everywhere. */
  public void endAll(String name) {
    grains.get(SessionEnds.class, name).endAll();
  }

  /**
   * The caller of a valid cookie; anonymous without one, or when its session is over or it is
   * forged.
   */
  @Override
  public Caller authenticate(Request request) {
    return read(request).map(this::now).orElse(Caller.ANONYMOUS);
  }

  @Override
  public Optional<Computation<Caller>> standing(Caller caller) {
    return caller.session().map(session -> () -> now(caller));
  }

  private Caller now(Caller caller) {
    var session = caller.session().orElseThrow();
    return ends(caller).ended(session.id()) ? Caller.ANONYMOUS : caller;
  }

  private SessionEnds ends(Caller caller) {
    return grains.get(SessionEnds.class, caller.name());
  }

  /** The caller of a cookie that was signed here and whose time is not over. */
  private Optional<Caller> read(Request request) {
    return request.cookie(COOKIE).flatMap(this::read);
  }

  private Optional<Caller> read(String cookie) {
    int dot = cookie.indexOf('.');
    if (dot < 0 || cookie.length() > MAX_COOKIE) {
      return Optional.empty();
    }
    var payload = cookie.substring(0, dot);
    var expected = encode(sign(payload)).getBytes(StandardCharsets.US_ASCII);
    var given = cookie.substring(dot + 1).getBytes(StandardCharsets.US_ASCII);
    if (!MessageDigest.isEqual(expected, given)) {
      return Optional.empty();
    }
    // Signed by ourselves, so it is well-formed.
    var fields =
        List.of(
            new String(Base64.getUrlDecoder().decode(payload), StandardCharsets.UTF_8)
                .split("\n", -1));
    var session = new Caller.Session(fields.get(2), time(fields.get(0)), time(fields.get(1)));
    return Instant.now().isBefore(session.until())
        ? Optional.of(
            new Caller(
                fields.get(3), Set.copyOf(fields.subList(4, fields.size())), Optional.of(session)))
        : Optional.empty();
  }

  private static Instant time(String millis) {
    return Instant.ofEpochMilli(Long.parseLong(millis));
  }

  /** What nobody else draws. */
  static String randomText() {
    return encode(random(ID_BYTES));
  }

  /** To which generation of its caller's sessions the session of this id belongs. */
  static String generationOf(String id) {
    int end = id.indexOf(OF_GENERATION);
    return end < 0 ? "" : id.substring(0, end);
  }

  private static byte[] random(int bytes) {
    var random = new byte[bytes];
    RANDOM.nextBytes(random);
    return random;
  }

  private byte[] sign(String payload) {
    try {
      var mac = Mac.getInstance("HmacSHA256");
      mac.init(key);
      mac.update(PURPOSE);
      return mac.doFinal(payload.getBytes(StandardCharsets.US_ASCII));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("Every JDK has HmacSHA256", e);
    }
  }

  private static String encode(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }
}

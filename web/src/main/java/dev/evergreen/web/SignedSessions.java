package dev.evergreen.web;

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
 * Sign-in by a cookie that carries the caller's name, roles and an expiry, signed with
 * HMAC-SHA-256. Nothing is kept in the server, so that every process with the same key accepts it.
 * It is {@code HttpOnly} and {@code SameSite=Strict}. Checking a password, if there is one, is the
 * caller's job.
 */
public final class SignedSessions implements Authenticator {

  /** The name of the cookie. */
  public static final String COOKIE = "evergreen-session";

  private static final int KEY_BYTES = 32;
  private static final int MAX_COOKIE = 2048;

  private final SecretKeySpec key;
  private final Duration validFor;
  private final boolean secure;

  private SignedSessions(SecretKeySpec key, Duration validFor, boolean secure) {
    this.key = key;
    this.validFor = validFor;
    this.secure = secure;
  }

  /** Sessions that end when the process does, because nobody else knows the key. */
  public static SignedSessions withRandomKey(Duration validFor) {
    var key = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(key);
    return withKey(key, validFor);
  }

  /**
   * Sessions that all processes with this key accept.
   *
   * @param key at least 32 bytes, secret
   */
  public static SignedSessions withKey(byte[] key, Duration validFor) {
    if (key.length < KEY_BYTES) {
      throw new IllegalArgumentException(
          "The key must have at least " + KEY_BYTES + " bytes, not " + key.length + ".");
    }
    return new SignedSessions(new SecretKeySpec(key, "HmacSHA256"), validFor, false);
  }

  /** The same, with cookies that browsers send over HTTPS only. */
  public SignedSessions secure() {
    return new SignedSessions(key, validFor, true);
  }

  /** An answer that signs in; status 200 with {@code {"name": …}}. */
  public Reply signIn(String name) {
    return signIn(new Caller(name, Set.of()));
  }

  /**
   * As {@link #signIn(String)}, with roles.
   *
   * @throws WebException 400 if the name is empty, too long or has control characters
   */
  public Reply signIn(Caller caller) {
    var fields = new ArrayList<String>();
    fields.add(Long.toString(Instant.now().plus(validFor).getEpochSecond()));
    fields.add(caller.name());
    fields.addAll(new TreeSet<>(caller.roles()));
    var bad = fields.stream().anyMatch(field -> field.chars().anyMatch(Character::isISOControl));
    var payload = encode(String.join("\n", fields).getBytes(StandardCharsets.UTF_8));
    var cookie = payload + "." + encode(sign(payload));
    if (bad || !caller.signedIn() || cookie.length() > MAX_COOKIE) {
      throw new WebException(
          400, "bad-name", "A name must not be empty, very long, or have control characters.");
    }
    return Reply.json(Map.of("name", caller.name())).withCookie(COOKIE, cookie, validFor, secure);
  }

  /** An answer that signs out; status 204. */
  public Reply signOut(Request request) {
    return Reply.noContent().withCookie(COOKIE, "", Duration.ZERO, secure);
  }

  /** The caller of a valid cookie; anonymous without one, or when it has expired or is forged. */
  @Override
  public Caller authenticate(Request request) {
    return request.cookie(COOKIE).flatMap(this::read).orElse(Caller.ANONYMOUS);
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
    var expires = Instant.ofEpochSecond(Long.parseLong(fields.get(0)));
    return Instant.now().isBefore(expires)
        ? Optional.of(new Caller(fields.get(1), Set.copyOf(fields.subList(2, fields.size()))))
        : Optional.empty();
  }

  private byte[] sign(String payload) {
    try {
      var mac = Mac.getInstance("HmacSHA256");
      mac.init(key);
      return mac.doFinal(payload.getBytes(StandardCharsets.US_ASCII));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("Every JDK has HmacSHA256", e);
    }
  }

  private static String encode(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }
}

package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;
import java.util.Set;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class SignedSessionsTest {

  private static final byte[] KEY = new byte[32];

  private final Node node = EmbeddedNode.builder().grains(SignedSessions.grains()).start();

  @AfterEach
  void close() {
    node.close();
  }

  private SignedSessions sessions(byte[] key, Duration validFor) {
    return SignedSessions.withKey(node.grains(), key, validFor);
  }

  private static Request withCookie(String value) {
    return new Request() {
      @Override
      public String method() {
        return "GET";
      }

      @Override
      public String path() {
        return "/";
      }

      @Override
      public String pathRest() {
        return "";
      }

      @Override
      public Optional<String> query(String name) {
        return Optional.empty();
      }

      @Override
      public Optional<String> header(String name) {
        return Optional.empty();
      }

      @Override
      public Optional<String> cookie(String name) {
        return name.equals(SignedSessions.COOKIE) ? Optional.of(value) : Optional.empty();
      }

      @Override
      public String remoteAddress() {
        return "";
      }

      @Override
      public Caller caller() {
        return Caller.ANONYMOUS;
      }

      @Override
      public <T> T body(Class<T> type) {
        throw new UnsupportedOperationException();
      }
    };
  }

  private static String cookie(Reply reply) {
    var header = reply.headers().getFirst().value();
    return header.substring(header.indexOf('=') + 1, header.indexOf(';'));
  }

  @Test
  void knowsTheCallerAgainInEveryProcessWithTheSameKey() {
    var caller = new Caller("Zoë Ann", Set.of("admin", "author"));
    var cookie = cookie(sessions(KEY, Duration.ofHours(1)).signIn(caller));
    var elsewhere = sessions(KEY.clone(), Duration.ofHours(1));
    assertEquals(caller, elsewhere.authenticate(withCookie(cookie)).withoutSession());
    var stranger = SignedSessions.withRandomKey(node.grains(), Duration.ofHours(1));
    assertEquals(Caller.ANONYMOUS, stranger.authenticate(withCookie(cookie)));
  }

  @Test
  void forgetsWhenTheTimeIsOver() {
    var sessions = sessions(KEY, Duration.ofSeconds(-1));
    var cookie = cookie(sessions.signIn("ann"));
    assertEquals(Caller.ANONYMOUS, sessions.authenticate(withCookie(cookie)));
  }

  @Test
  void refusesEveryCookieThatIsChangedByOneCharacter() {
    var sessions = sessions(KEY, Duration.ofHours(1));
    var cookie = cookie(sessions.signIn("ann"));
    assertEquals("ann", sessions.authenticate(withCookie(cookie)).name());
    for (int i = 0; i < cookie.length(); i++) {
      var other = cookie.charAt(i) == 'A' ? 'B' : 'A';
      var changed = cookie.substring(0, i) + other + cookie.substring(i + 1);
      assertEquals(Caller.ANONYMOUS, sessions.authenticate(withCookie(changed)), changed);
    }
    for (var nonsense : new String[] {"", ".", "..", "a.b", "é.ü", "x".repeat(5000)}) {
      assertEquals(Caller.ANONYMOUS, sessions.authenticate(withCookie(nonsense)));
    }
  }

  @Test
  void whatTheSameKeySignedForSomethingElseIsNoSession() throws Exception {
    var encoder = Base64.getUrlEncoder().withoutPadding();
    var former = encoder.encodeToString("9999999999\nann".getBytes(StandardCharsets.UTF_8));
    var mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
    var signature = mac.doFinal(former.getBytes(StandardCharsets.US_ASCII));
    var cookie = former + "." + encoder.encodeToString(signature);
    var sessions = sessions(KEY, Duration.ofHours(1));
    assertEquals(Caller.ANONYMOUS, sessions.authenticate(withCookie(cookie)));
  }

  @Test
  void takesNoNameThatCouldBeMistakenForAnother() {
    var sessions = sessions(KEY, Duration.ofHours(1));
    for (var name : new String[] {"", "ann\nadmin", "x".repeat(3000), "ann\uD800", "\uDC00"}) {
      assertEquals(400, assertThrows(WebException.class, () -> sessions.signIn(name)).status());
    }
    assertThrows(IllegalArgumentException.class, () -> sessions(new byte[31], Duration.ofHours(1)));
    var secure = sessions.secure().signIn("ann").headers().getFirst().value();
    assertTrue(secure.endsWith("; Secure"), secure);
  }
}

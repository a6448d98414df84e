package dev.evergreen.proxy.rules;

import static dev.evergreen.proxy.rules.Heads.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Whatever a client or an origin says in its fields is judged, and never by an exception. What is
 * said is made of pieces that the grammars of these fields know. With {@code
 * -Devergreen.proxy.fuzz=N} there are N of them, and {@code -Devergreen.proxy.seed=S} says where
 * they begin.
 */
final class RulesFuzzTest {
  private static final int ROUNDS = Integer.getInteger("evergreen.proxy.fuzz", 20_000);
  private static final long SEED = Long.getLong("evergreen.proxy.seed", 20261127);

  private static final List<String> PIECES =
      List.of(
          "max-age",
          "s-maxage",
          "no-cache",
          "private",
          "must-understand",
          "stale-if-error",
          "min-fresh",
          "=",
          "\"",
          "\\",
          ",",
          ";",
          " ",
          "\t",
          "-",
          ":",
          "/",
          "(",
          ")",
          "?1",
          "?",
          "@1",
          "@",
          "*",
          "%zz",
          "#",
          "..",
          ".",
          "0",
          "1",
          "5",
          "60",
          "2147483648",
          "99999999999999999999",
          "1.5",
          "-1",
          "q=0.5",
          "W/",
          "\"1\"",
          "bytes=",
          "bytes",
          "0-",
          "-5",
          "5-1",
          "http://a",
          "http://b:80",
          "//a",
          "x",
          "GMT",
          "Mon, 23 Nov 2026 12:00:00 GMT",
          "Monday, 23-Nov-26 12:00:00 GMT",
          "gzip",
          "de",
          "\u00e9",
          "{",
          "|",
          "a");

  private static final List<String> NAMES =
      List.of(
          "Cache-Control",
          "CDN-Cache-Control",
          "Expires",
          "Date",
          "Age",
          "Last-Modified",
          "ETag",
          "Vary",
          "Connection",
          "Set-Cookie",
          "Content-Encoding",
          "Cache-Groups",
          "Cache-Group-Invalidation",
          "Location",
          "Content-Location",
          "If-None-Match",
          "If-Modified-Since",
          "If-Range",
          "Range",
          "Pragma",
          "Accept",
          "Accept-Language",
          "Cookie",
          "Authorization",
          "Content-Length",
          "Max-Forwards",
          "Via");

  private final Random random = new Random(SEED);

  private String value() {
    var value = new StringBuilder();
    for (int i = random.nextInt(6); i > 0; i--) {
      value.append(PIECES.get(random.nextInt(PIECES.size())));
    }
    return Members.trim(value.toString());
  }

  private Fields fields() {
    var fields = new Fields();
    for (int i = random.nextInt(6); i > 0; i--) {
      fields.add(NAMES.get(random.nextInt(NAMES.size())), value());
    }
    return fields;
  }

  @Test
  void whateverIsSaidIsJudged() {
    for (int i = 0; i < ROUNDS; i++) {
      var request = RequestHead.of(random.nextInt(4) == 0 ? "POST" : "GET", "/x/y", fields());
      var response = ResponseHead.of(List.of(200, 206, 304, 404, 500, 299).get(i % 6), fields());
      var said = request + "\n" + response;
      judge(request, response, said);
      vary(request.fields(), response.fields(), said);
      ranges(request.fields(), said);
      invalidate(request, response, said);
    }
  }

  private static void judge(RequestHead request, ResponseHead response, String said) {
    var rules = CacheRules.DEFAULT;
    var storing = Storing.of(request, response, NOW, rules);
    var life = Life.of(response, NOW - 5, NOW, rules);
    assertTrue(life.lifetime() >= 0 && life.lifetime() <= CacheControl.LONGEST, said);
    assertTrue(life.age(NOW) >= 0 && life.age(NOW + 1000) >= life.age(NOW), said);
    var demands = Demands.of(request.fields());
    var reuse = Reuse.of(life, demands, NOW);
    assertFalse(reuse == Reuse.FRESH && (life.validate() || life.age(NOW) > life.lifetime()), said);
    boolean mayBeUsed = Reuse.afterFailure(life, demands, NOW);
    assertFalse(mayBeUsed && life.validate(), said);
    assertFalse(storing == Storing.YES && !request.is("GET"), said);
    var stored = Storing.fields(response, rules);
    assertFalse(stored.has("connection"), said);
    assertEquals(response.fields().has("vary"), stored.has("vary"), said);
    var updated = Freshening.update(stored, response, NOW, rules);
    assertEquals(stored.get("etag"), updated.get("etag"), said);
    var _ = Freshening.chosen(response, List.of(Validators.of(stored), Validators.NONE));
    var _ = Freshening.confirms(response, stored, 5);
    var _ = Conditions.notModified(request, response.status(), stored, NOW);
    var _ = Forwarding.maxForwards(request);
  }

  private static void vary(Fields request, Fields response, String said) {
    var vary = Vary.of(response);
    var selected = vary.map(each -> each.select(request));
    assertEquals(selected, vary.map(each -> each.select(request.copy())), said);
    assertFalse(selected.isPresent() && response.hasMember("vary", "*"), said);
  }

  private static void ranges(Fields request, String said) {
    var _ = Conditions.rangeCounts(request, request);
    if (Ranges.of(request.all("range"), 10) instanceof Ranges.Parts(var parts)) {
      for (var part : parts) {
        assertTrue(part.first() >= 0 && part.first() <= part.last() && part.last() < 10, said);
      }
    }
  }

  private void invalidate(RequestHead request, ResponseHead response, String said) {
    for (var key : Invalidation.of(request, "http://a/x/y?q", response).keys()) {
      assertEquals("http://a", CacheKey.origin(key), said);
      assertTrue(key.chars().allMatch(c -> c > ' ' && c < 0x7f && c != '#'), said);
    }
    var written = value();
    for (var prefix : CacheKey.ofPrefix(written)) {
      assertFalse(prefix.contains(" "), written);
    }
    CacheKey.ofUri(written).ifPresent(key -> assertTrue(key.startsWith("http"), written));
  }
}

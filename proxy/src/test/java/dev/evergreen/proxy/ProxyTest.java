package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.http.IncompleteMessageException;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.proxy.rules.CacheRules;
import dev.evergreen.proxy.rules.Life;
import dev.evergreen.proxy.rules.Vary;
import dev.evergreen.proxy.storage.Entry;
import dev.evergreen.proxy.storage.Purge;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the proxy answers, stores, asks and forwards. */
@Timeout(60)
class ProxyTest extends WithOneProxy {

  ProxyTest() throws IOException {}

  private Browser.Answer get(String path, String... fields) throws IOException {
    return ask(path, fields);
  }

  @Test
  void aHitIsAnsweredFromTheCache() throws Exception {
    origin.then(200, "body", "Cache-Control: max-age=60", "X: y");
    assertEquals("evergreen; fwd=uri-miss; fwd-status=200; ttl=60; stored", status("/a"));
    after(5);
    var hit = get("/a");
    assertEquals(200, hit.status());
    assertEquals("body", hit.body());
    assertEquals("y", hit.field("X"));
    assertEquals("5", hit.field("Age"));
    assertEquals("evergreen; hit; ttl=55", hit.field("Cache-Status"));
    assertEquals(1, origin.count());
  }

  private String status(String path, String... fields) throws IOException {
    return get(path, fields).field("Cache-Status");
  }

  @Test
  void anotherUriIsAnotherResponse() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(200, "2", "Cache-Control: max-age=60");
    assertEquals("1", get("/a").body());
    assertEquals("2", get("/a?b").body());
    assertEquals("1", get("/a").body());
  }

  @Test
  void whatIsStaleIsValidated() throws Exception {
    origin
        .then(200, "body", "Cache-Control: max-age=60", "ETag: \"1\"", "X: old")
        .then(304, "", "Cache-Control: max-age=90", "X: new");
    get("/a");
    origin.next();
    after(61);
    var answer = get("/a");
    assertEquals("\"1\"", origin.next().field("If-None-Match"));
    assertEquals(200, answer.status());
    assertEquals("body", answer.body());
    assertEquals("new", answer.field("X"));
    assertEquals("evergreen; fwd=stale; fwd-status=304; ttl=90", answer.field("Cache-Status"));
    after(80);
    assertEquals("evergreen; hit; ttl=10", status("/a"));
    assertEquals(2, origin.count());
  }

  @Test
  void whatHasChangedIsReplaced() throws Exception {
    origin
        .then(200, "old", "Cache-Control: max-age=60", "Last-Modified: x")
        .then(200, "new", "Cache-Control: max-age=60");
    get("/a");
    after(61);
    assertEquals("new", get("/a").body());
    assertEquals("new", get("/a").body());
    assertEquals(2, origin.count());
  }

  @Test
  void whatMayNoLongerBeStoredIsForgotten() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(200, "2", "Cache-Control: no-store");
    get("/a");
    after(61);
    assertEquals("2", get("/a").body());
    assertEquals(504, get("/a", "Cache-Control: only-if-cached, max-stale").status());
  }

  @Test
  void aReloadIsValidatedThoughItIsFresh() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(200, "2", "Cache-Control: max-age=60");
    get("/a");
    var answer = get("/a", "Cache-Control: no-cache");
    assertEquals("2", answer.body());
    assertTrue(answer.field("Cache-Status").contains("fwd=request"));
  }

  @Test
  void whatMayNotBeStoredIsPassedOn() throws Exception {
    origin
        .then(200, "1", "Cache-Control: no-store")
        .then(200, "2", "Cache-Control: private, max-age=60")
        .then(200, "3");
    for (var body : List.of("1", "2", "3")) {
      var answer = get("/a");
      assertEquals(body, answer.body());
      assertFalse(answer.field("Cache-Status").contains("stored"));
    }
  }

  @Test
  void aClientThatWantsNothingStoredChangesNothingForOthers() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(200, "2", "Cache-Control: max-age=60");
    get("/a", "Cache-Control: no-store");
    assertEquals("2", get("/a").body());
    assertTrue(status("/a").contains("hit"));
    get("/a", "Cache-Control: no-store, no-cache");
    get("/a", "Authorization: x", "Cache-Control: no-cache");
    assertTrue(status("/a").contains("hit"));
    assertEquals(4, origin.count());
  }

  @ParameterizedTest
  @ValueSource(strings = {"Authorization: me", "Cache-Control: no-store"})
  void whoMayNotShareAValidationTakesNothingFromOthers(String own) throws Exception {
    origin
        .then(200, "1", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(304, "", "ETag: \"1\"", "X: mine");
    get("/a");
    var mine = get("/a", own, "Cache-Control: no-cache");
    assertEquals("1", mine.body());
    assertEquals("mine", mine.field("X"));
    var other = get("/a");
    assertTrue(other.field("Cache-Status").contains("hit"), "it is still there");
    assertFalse(other.has("X"), "RFC 9111 §3.5, §5.2.1.5");
    assertEquals(2, origin.count());
  }

  @Test
  void onlyWhatIsCachedIsAnsweredIfSoWanted() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60");
    assertEquals(504, get("/a", "Cache-Control: only-if-cached").status());
    assertEquals(504, get("/a", "Cache-Control: only-if-cached", "If-Match: *").status());
    assertEquals(0, origin.count());
    get("/a");
    assertEquals(200, get("/a", "Cache-Control: only-if-cached").status());
  }

  @Test
  void aClientThatHasItAlreadyGets304() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60", "ETag: \"1\"", "Content-Type: x/y");
    assertEquals(304, get("/a", "If-None-Match: \"1\"").status(), "also at a miss");
    var answer = get("/a", "If-None-Match: W/\"1\"");
    assertEquals(304, answer.status());
    assertEquals("\"1\"", answer.field("ETag"));
    assertFalse(answer.has("Content-Type"));
    assertTrue(answer.has("Age"));
    assertEquals(200, get("/a", "If-None-Match: \"2\"").status());
    assertEquals(1, origin.count());
  }

  @Test
  void headIsAnsweredFromGet() throws Exception {
    origin.then(200, "body", "Cache-Control: max-age=60");
    get("/a");
    var answer = browser.head("/a");
    assertEquals("4", answer.field("Content-Length"));
    assertTrue(answer.field("Cache-Status").contains("hit"));
    assertEquals(200, get("/a").status(), "and no body came");
  }

  @Test
  void aConditionOfHeadIsTheOriginsWhereNothingIsStored() throws Exception {
    origin.then(304, "", "ETag: \"1\"");
    assertEquals(304, browser.head("/a", "If-None-Match: \"1\"").status());
    assertEquals("\"1\"", origin.next().field("If-None-Match"));
  }

  @Test
  void anAnswerToHeadThatDiffersMakesGetStale() throws Exception {
    origin
        .then(200, "body", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then((_, wire) -> wire.send("HTTP/1.1 200 OK\r\nETag: \"2\"\r\nContent-Length: 9\r\n\r\n"))
        .then(200, "other", "Cache-Control: max-age=60");
    get("/a");
    after(61);
    browser.head("/a");
    assertEquals("other", get("/a").body());
  }

  @Test
  void partsAreAnsweredFromTheCache() throws Exception {
    origin.then(
        200,
        "0123456789",
        "Cache-Control: max-age=60",
        "ETag: \"1\"",
        "Content-Digest: md5=:eB5eJF1ptWaXm4bijSPyxw==:");
    var first = get("/a", "Range: bytes=2-4");
    assertEquals(206, first.status(), "also at a miss");
    assertEquals("234", first.body());
    assertEquals("bytes=2-4", origin.next().field("Range"), "who has no parts sends the whole");
    var part = get("/a", "Range: bytes=-3");
    assertEquals("789", part.body());
    assertEquals("bytes 7-9/10", part.field("Content-Range"));
    assertFalse(part.has("Content-Digest"), "RFC 9530 §2: it is that of the whole");
    assertTrue(get("/a").has("Content-Digest"));
    var none = get("/a", "Range: bytes=10-");
    assertEquals(416, none.status());
    assertEquals("bytes */10", none.field("Content-Range"));
    assertTrue(none.has("Date"), "RFC 9110 §6.6.1");
    var several = get("/a", "Range: bytes=0-0,9-9");
    assertTrue(several.field("Content-Type").startsWith("multipart/byteranges"));
    assertTrue(several.body().contains("Content-Range: bytes 9-9/10\r\n\r\n9"));
    assertEquals(200, get("/a", "Range: bytes=0-0", "If-Range: \"2\"").status());
    assertEquals(206, get("/a", "Range: bytes=0-0", "If-Range: \"1\"").status());
    assertEquals(1, origin.count());
  }

  @Test
  void variantsAreKeptApart() throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(
                    200,
                    request.field("Accept-Language"),
                    "Cache-Control: max-age=60",
                    "Vary: Accept-Language")));
    assertEquals("de", get("/a", "Accept-Language: de").body());
    var other = get("/a", "Accept-Language: en");
    assertEquals("en", other.body());
    assertTrue(other.field("Cache-Status").contains("fwd=vary-miss"));
    assertEquals("de", get("/a", "Accept-Language: DE").body());
    assertEquals("en", get("/a", "Accept-Language: en").body());
    assertEquals("", get("/a").body());
    assertEquals(3, origin.count());
  }

  @Test
  void variantsOfOthersAreValidatedToo() throws Exception {
    origin
        .then(200, "one", "Cache-Control: max-age=60", "Vary: X", "ETag: \"1\"")
        .then(200, "two", "Cache-Control: max-age=60", "Vary: X", "ETag: \"2\"")
        .then(304, "", "ETag: \"1\"", "Cache-Control: max-age=90", "Vary: X");
    get("/a", "X: a");
    get("/a", "X: b");
    origin.next();
    assertEquals("\"1\"", origin.next().field("If-None-Match"), "for another there is one");
    var chosen = get("/a", "X: c");
    assertEquals("\"2\", \"1\"", origin.next().field("If-None-Match"), "RFC 9111 §4.3.1");
    assertEquals("one", chosen.body(), "the origin has chosen");
    assertEquals("evergreen; fwd=vary-miss; fwd-status=304; ttl=90", chosen.field("Cache-Status"));
    after(70);
    assertEquals("one", get("/a", "X: c").body(), "it is kept for these, too");
    assertEquals("one", get("/a", "X: a").body(), "that which the 304 was about lives longer");
    assertEquals(3, origin.count());
  }

  @Test
  void allThatHaveTheTagOfA304AreFresh() throws Exception {
    origin
        .then(200, "same", "Cache-Control: max-age=60", "Vary: X", "ETag: \"1\"")
        .then(200, "same", "Cache-Control: max-age=60", "Vary: X", "ETag: \"1\"")
        .then(304, "", "ETag: \"1\"", "Cache-Control: max-age=60", "Y: new");
    get("/a", "X: a");
    get("/a", "X: b");
    after(61);
    assertEquals("new", get("/a", "X: a").field("Y"));
    var other = get("/a", "X: b");
    assertTrue(other.field("Cache-Status").contains("hit"), "RFC 9111 §4.3.4");
    assertEquals("new", other.field("Y"));
    assertEquals(3, origin.count());
  }

  @Test
  void a304AboutNothingThatIsStoredIsAskedAgain() throws Exception {
    restart(settings().withOriginLimits(UpstreamLimits.DEFAULT.withConnections(1)));
    origin
        .then(200, "old", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(304, "", "ETag: \"9\"")
        .then(200, "new", "Cache-Control: max-age=60");
    get("/a");
    after(61);
    assertEquals("new", get("/a").body());
    assertFalse(origin.requests().get(2).has("If-None-Match"));
  }

  @Test
  void whatGrowsWithEachValidationIsFetchedAnew() throws Exception {
    origin.then(
        (request, wire) -> {
          var more = "X-" + origin.count() + ": " + "y".repeat(10_000);
          wire.send(
              request.has("If-None-Match")
                  ? ScriptedOrigin.response(304, "", "ETag: \"1\"", more)
                  : ScriptedOrigin.response(
                      200, "body", "ETag: \"1\"", "Cache-Control: max-age=1"));
        });
    for (int i = 0; i < 12; i++) {
      var answer = get("/a");
      assertEquals(200, answer.status());
      assertEquals("body", answer.body());
      after(2);
    }
    var whole = origin.requests().stream().filter(each -> !each.has("If-None-Match")).count();
    assertEquals(3, whole, "each fourth time, as 32 KiB may be sent at once");
  }

  @Test
  void whatCouldNotBeRetiredInItsPlaceIsValidatedToo() throws Exception {
    var large = "x".repeat(1 << 20);
    origin
        .then(200, large, "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(200, "mine", "Cache-Control: private")
        .then(200, "new", "Cache-Control: max-age=60");
    get("/a");
    var key = Proxy.segment("http://test/held");
    try (var appender =
        proxy.storage().append(new Entry(key, new byte[0], proxy.storage().stamp(), -1))) {
      appender.append(ByteBuffer.wrap(large.getBytes(ISO_8859_1)));
      assertTrue(appender.commit());
    }
    try (var held = proxy.storage().find(key, _ -> true)) {
      // As by a slow reader: it is all that may be held, so that what is stored gets no other head.
      assertNotNull(held);
      assertEquals("mine", get("/a", "Cache-Control: no-cache").body());
    }
    assertEquals("new", get("/a").body());
  }

  /** Seen: that it could not be retired twice was taken for a want of room. */
  @Test
  void whatIsRetiredOnceIsNoReasonToSuspectItsOtherVariants() throws Exception {
    var large = "Y: " + "y".repeat(8_000) + "\r\nY: " + "y".repeat(8_000);
    origin
        .then(200, "a", "Cache-Control: max-age=60", "ETag: \"1\"", "Vary: X", large)
        .then(200, "b", "Cache-Control: max-age=600", "Vary: X")
        .then(304, "", "ETag: \"1\"", large.replace("Y:", "Z:"), large.replace("Y:", "W:"))
        .then(200, "own", "Cache-Control: private");
    get("/a", "X: a");
    get("/a", "X: b");
    after(61);
    assertEquals("own", get("/a", "X: a").body());
    assertEquals("evergreen; hit; ttl=539", status("/a", "X: b"));
  }

  @Test
  void theSecondQuestionHasNoConditionOfTheClientEither() throws Exception {
    origin
        .then(200, "old", "Cache-Control: max-age=60", "ETag: W/\"1\"")
        .then(304, "", "ETag: \"1\"")
        .then(200, "new", "Cache-Control: max-age=60", "ETag: W/\"1\"");
    get("/a");
    after(61);
    assertEquals(304, get("/a", "If-None-Match: W/\"1\"", "Range: bytes=0-0").status());
    assertFalse(origin.requests().get(2).has("If-None-Match"));
    assertFalse(origin.requests().get(2).has("Range"));
    assertEquals("new", get("/a").body(), "it is stored");
    assertEquals(3, origin.count());
  }

  @Test
  void aWeakTagIsNoReasonToAnswerByAnotherVariant() throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(
                request.has("If-None-Match")
                    ? ScriptedOrigin.response(304, "", "ETag: W/\"1\"")
                    : ScriptedOrigin.response(
                        200,
                        request.has("Accept-Encoding") ? "packed" : "plain",
                        "Cache-Control: max-age=60",
                        "Vary: Accept-Encoding",
                        "ETag: W/\"1\"")));
    assertEquals("packed", get("/a", "Accept-Encoding: gzip").body());
    assertEquals("plain", get("/a").body());
    assertEquals("plain", get("/a").body(), "it is stored, too");
  }

  @Test
  void fieldsForOneClientAloneReachIt() throws Exception {
    origin.then(
        200,
        "1",
        "Cache-Control: max-age=60, private=\"Set-Cookie\", no-cache=\"Y\"",
        "Set-Cookie: me",
        "Y: 1",
        "Z: 2");
    var first = get("/a");
    assertEquals("me", first.field("Set-Cookie"));
    assertEquals("1", first.field("Y"));
    var second = get("/a");
    assertFalse(second.has("Set-Cookie"), "RFC 9111 §5.2.2.7");
    assertFalse(second.has("Y"));
    assertEquals("2", second.field("Z"));
    assertEquals(1, origin.count());
  }

  @Test
  void fieldsOfA304ForOneClientAloneReachIt() throws Exception {
    origin
        .then(200, "1", "Cache-Control: max-age=60, private=\"X-Mine\"", "ETag: \"1\"", "Z: 1")
        .then(304, "", "ETag: \"1\"", "X-Mine: me", "Z: 2", "Connection: X-Hop", "X-Hop: 1");
    get("/a");
    after(61);
    var mine = get("/a");
    assertEquals("me", mine.field("X-Mine"), "RFC 9111 §5.2.2.7: it is for who has asked");
    assertEquals("2", mine.field("Z"));
    assertFalse(mine.has("X-Hop"));
    var other = get("/a");
    assertTrue(other.field("Cache-Status").contains("hit"));
    assertFalse(other.has("X-Mine"));
    assertEquals("2", other.field("Z"));
  }

  @Test
  void aCookieOfOneUserReachesNoOther() throws Exception {
    origin
        .then(200, "page", "ETag: \"1\"", "Set-Cookie: of=one")
        .then(200, "page", "ETag: \"1\"", "Set-Cookie: of=two");
    assertEquals("of=one", get("/a").field("Set-Cookie"));
    assertEquals("of=two", get("/a", "Cache-Control: max-stale").field("Set-Cookie"));
    assertFalse(origin.requests().get(1).has("If-None-Match"), "nothing is stored");
  }

  @Test
  void aCookieOfA304IsForWhoHasAsked() throws Exception {
    origin
        .then(200, "page", "Cache-Control: max-age=60", "ETag: \"1\"", "Set-Cookie: of=all")
        .then(304, "", "ETag: \"1\"", "Set-Cookie: of=one");
    get("/a");
    after(61);
    assertEquals("of=one", get("/a").field("Set-Cookie"));
    assertEquals("of=all", get("/a").field("Set-Cookie"), "its origin lets all have it");
    assertEquals(2, origin.count());
  }

  @Test
  void aCookieThatWasForAllIsForNobodyWhenItsOriginSaysSo() throws IOException {
    origin
        .then(200, "page", "Cache-Control: max-age=60", "ETag: \"1\"", "Set-Cookie: of=all")
        .then(304, "", "ETag: \"1\"", "Cache-Control: private")
        .then(200, "other page", "Cache-Control: private");
    assertEquals("of=all", get("/a").field("Set-Cookie"));
    var reloaded = get("/a", "Cache-Control: no-cache");
    assertEquals("page", reloaded.body());
    assertFalse(reloaded.has("Set-Cookie"));
    assertEquals("other page", get("/a", "Cache-Control: max-stale").body());
  }

  @Test
  void anUnsafeMethodInvalidates() throws Exception {
    origin
        .then(200, "1", "Cache-Control: max-age=60")
        .then(200, "other", "Cache-Control: max-age=60")
        .then(201, "", "Location: /b")
        .then(200, "2", "Cache-Control: max-age=60");
    get("/a");
    get("/b");
    browser.send("POST /a HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nbody");
    assertEquals(201, browser.receive().status());
    assertEquals("2", get("/a").body());
    assertEquals("2", get("/b").body());
    assertEquals("body", origin.requests().get(2).body());
  }

  @Test
  void whatIsNeitherStoredNorUnderWayNeedNotBeRememberedAsInvalid() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(204, "", "Location: /n");
    get("/a");
    for (int i = 0; i < 50; i++) {
      browser.send("POST /n" + i + " HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
      assertEquals(204, browser.receive().status());
    }
    assertEquals(0, proxy.storage().stats().marks());
    assertEquals("1", get("/a").body());
    assertEquals(51, origin.count());
  }

  @Test
  void anErrorInvalidatesNothing() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(500, "no");
    get("/a");
    browser.send("DELETE /a HTTP/1.1\r\nHost: test\r\n\r\n");
    assertEquals(500, browser.receive().status());
    assertEquals("1", get("/a").body());
  }

  @Test
  void groupsAreInvalidatedTogether() throws Exception {
    origin
        .then(200, "1", "Cache-Control: max-age=60", "Cache-Groups: \"g\"")
        .then(200, "2", "Cache-Control: max-age=60", "Cache-Groups: \"h\"")
        .then(204, "", "Cache-Group-Invalidation: \"g\"")
        .then(200, "3", "Cache-Control: max-age=60");
    get("/a");
    get("/b");
    browser.send("POST /c HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
    browser.receive();
    assertEquals("2", get("/b").body());
    assertEquals("3", get("/a").body());
  }

  @Test
  void manyThatWantTheSameAreOneRequest() throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(ScriptedOrigin.response(200, "body", "Cache-Control: max-age=60"));
        });
    browser.ask("GET", "/a");
    origin.next();
    var others = new ArrayList<Browser>();
    for (int i = 0; i < 5; i++) {
      var other = browser();
      other.ask("GET", "/a");
      others.add(other);
    }
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 5);
    go.countDown();
    assertEquals("body", browser.receive().body());
    for (var other : others) {
      var answer = other.receive();
      assertEquals("body", answer.body());
      assertTrue(answer.field("Cache-Status").contains("collapsed"), answer.field("Cache-Status"));
    }
    assertEquals(1, origin.count());
  }

  @Test
  void headIsAnsweredFromAGetThatIsUnderWay() throws Exception {
    var go = new CountDownLatch(1);
    var more = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send("HTTP/1.1 200 X\r\nContent-Length: 4\r\nCache-Control: max-age=60\r\n\r\n");
          more.await();
          wire.send("body");
        });
    browser.ask("GET", "/a");
    origin.next();
    var other = browser();
    other.ask("HEAD", "/a");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    go.countDown();
    assertEquals("4", other.receive(true).field("Content-Length"), "and before the body comes");
    more.countDown();
    assertEquals("body", browser.receive().body());
    assertEquals(1, origin.count());
  }

  @Test
  void aCodingIsNotGivenToWhoRefusesIt() throws Exception {
    origin
        .then(200, "coded", "Cache-Control: max-age=60", "Content-Encoding: gzip")
        .then(200, "plain", "Cache-Control: max-age=60");
    assertEquals("coded", get("/a", "Accept-Encoding: gzip").body());
    assertEquals("plain", get("/a", "Accept-Encoding: identity").body(), "no Vary says so");
    assertEquals(2, origin.count());
  }

  @Test
  void nobodySaysByHttpThatItCameByTls() throws Exception {
    origin.then(200, "1");
    assertEquals(421, get("https://test/a").status());
    assertEquals(200, get("http://test/a").status());
    assertEquals("http", origin.next().field("X-Forwarded-Proto"));
    assertEquals(1, origin.count());
  }

  @Test
  void whoWaitsOutlivesTheFirstClient() throws Exception {
    var go = new CountDownLatch(1);
    var more = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(
              "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nCache-Control: max-age=60\r\n\r\n01234");
          more.await();
          wire.send("56789");
        });
    browser.ask("GET", "/a");
    origin.next();
    var other = browser();
    other.ask("GET", "/a");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    browser.vanish();
    go.countDown();
    assertEquals(200, Integer.parseInt(other.line().substring(9, 12)));
    more.countDown();
    while (!other.line().isEmpty()) {}
    assertEquals("0123456789", other.read(10));
    assertEquals("0123456789", browser().get("/a").body());
    assertEquals(1, origin.count());
  }

  @Test
  void whatIsForOneAloneReleasesAll() throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (request, wire) -> {
          go.await();
          wire.send(
              ScriptedOrigin.response(200, request.field("Cookie"), "Cache-Control: private"));
        });
    browser.ask("GET", "/a", "Cookie: me");
    origin.next();
    var other = browser();
    other.ask("GET", "/a", "Cookie: you");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    go.countDown();
    assertEquals("me", browser.receive().body());
    assertEquals("you", other.receive().body());
    assertEquals("me", get("/a", "Cookie: me").body());
    assertEquals(1, proxy.statistics().get(Statistics.Count.COLLAPSED), "it is remembered");
  }

  @ParameterizedTest
  @ValueSource(ints = {400, 401, 403, 416, 429, 431})
  void whatIsWrongWithOneRequestTakesNothingFromOthers(int status) throws Exception {
    origin
        .then(200, "1", "Cache-Control: max-age=60")
        .then(status, "no")
        .then(200, "2", "Cache-Control: max-age=60");
    get("/a");
    assertEquals(status, get("/a", "Cache-Control: no-cache", "Cookie: bad").status());
    assertEquals("evergreen; hit; ttl=60", status("/a"));
    assertFalse(proxy.fetches().alone("http://test/a", clock.get()), "others still wait for it");
    after(61);
    assertTrue(status("/a").endsWith("; stored"));
    assertTrue(status("/a").contains("hit"));
  }

  @Test
  void whatIsForOneAloneKeepsNothingOfOthersOut() throws Exception {
    origin
        .then(200, "mine", "Cache-Control: private")
        .then(200, "all's", "Cache-Control: max-age=60");
    get("/a", "Cookie: me");
    assertTrue(status("/a").endsWith("; stored"));
    assertEquals("all's", get("/a").body());
    assertEquals(2, origin.count());
  }

  /** The page is for all without a cookie, and for one with it. */
  private void pageByCookie() {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(
                    200,
                    "page of " + request.field("Cookie"),
                    request.field("Cookie").startsWith("me")
                        ? "Cache-Control: private"
                        : "Cache-Control: max-age=60",
                    "Vary: Cookie")));
  }

  @Test
  void oneVariantThatIsForOneAloneIsNoMatterOfTheOthers() throws Exception {
    pageByCookie();
    get("/a");
    get("/a", "Cookie: other");
    after(61);
    get("/a", "Cookie: me");
    assertTrue(status("/a").endsWith("; stored"));
    assertTrue(status("/a").contains("hit"));
    assertTrue(status("/a", "Cookie: other").endsWith("; stored"));
    assertFalse(proxy.fetches().alone("http://test/a\nother", clock.get()));
  }

  @Test
  void aVariantThatHasBecomeOnesOwnLeavesTheOthers() throws Exception {
    origin
        .then(200, "a", "Cache-Control: max-age=60", "Vary: X")
        .then(200, "b", "Cache-Control: max-age=60", "Vary: X")
        .then(200, "own", "Cache-Control: private", "Vary: X");
    get("/a", "X: a");
    get("/a", "X: b");
    assertEquals("own", get("/a", "X: a", "Cache-Control: no-cache").body());
    assertEquals("b", get("/a", "X: b").body());
    assertEquals("own", get("/a", "X: a").body());
    assertEquals(504, get("/a", "X: a", "Cache-Control: only-if-cached, max-stale").status());
    assertEquals(4, origin.count());
  }

  @ParameterizedTest
  @ValueSource(strings = {"If-None-Match: \"1\"", "Range: bytes=0-0"})
  void whoAsksForItsOwnAgainIsAnsweredByTheOrigin(String field) throws Exception {
    origin
        .then(200, "mine", "Cache-Control: private", "ETag: \"1\"")
        .then((_, wire) -> wire.send("HTTP/1.1 304 X\r\nETag: \"1\"\r\n\r\n"));
    get("/a");
    assertEquals(304, get("/a", field).status());
    assertTrue(origin.requests().get(1).head().contains(field), "not the whole each time");
  }

  @Test
  void whatIsStaleMayServeWhileItIsValidated() throws Exception {
    origin
        .then(200, "old", "Cache-Control: max-age=60, stale-while-revalidate=30")
        .then(200, "new", "Cache-Control: max-age=60");
    get("/a");
    after(70);
    var stale = get("/a");
    assertEquals("old", stale.body());
    assertEquals("evergreen; hit; ttl=-10", stale.field("Cache-Status"));
    await(() -> get("/a").body().equals("new"));
    assertEquals(2, origin.count());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HEAD /a | X: y",
        "GET /a | Authorization: me",
        "GET /a | Cache-Control: no-store",
        "GET /a | Range: bytes=0-0"
      })
  void whoHasItValidatedInTheBackgroundDoesSoForAll(String request) throws Exception {
    origin
        .then(200, "old", "Cache-Control: max-age=60, stale-while-revalidate=30")
        .then(200, "new", "Cache-Control: max-age=60");
    get("/a");
    after(70);
    var words = request.split("[ |]+", 3);
    browser.ask(words[0], words[1], words[2]);
    assertTrue(browser.receive(words[0].equals("HEAD")).field("Cache-Status").contains("hit"));
    await(() -> origin.count() == 2 && proxy.fetches().underWay() == 0);
    assertTrue(origin.requests().get(1).line().startsWith("GET"), "what is stored answers GET");
    var other = get("/a");
    assertTrue(other.field("Cache-Status").contains("hit"));
    assertEquals("new", other.body());
  }

  @ParameterizedTest
  @CsvSource({
    "Authorization: me, 404, X: y",
    "Cache-Control: no-store, 200, Cache-Control: private"
  })
  void whatIsGoneIsForgottenWhoeverHasFoundItStale(String own, int status, String field)
      throws Exception {
    origin
        .then(200, "old", "Cache-Control: max-age=60, stale-while-revalidate=30")
        .then(status, "gone", field)
        .then(200, "new", "Cache-Control: max-age=60");
    get("/a");
    after(70);
    assertEquals("old", get("/a", own).body());
    await(() -> origin.count() == 2 && proxy.fetches().underWay() == 0);
    assertFalse(origin.requests().get(1).has("Authorization"), "it is the cache's own question");
    assertEquals("new", get("/a").body());
  }

  @Test
  void validationsInTheBackgroundLeaveConnectionsToThoseWhoWait() throws Exception {
    restart(settings().withOriginLimits(UpstreamLimits.DEFAULT.withConnections(16)));
    var go = new CountDownLatch(1);
    origin.then(
        (request, wire) -> {
          if (clock.get() > START && !request.line().contains("/other")) {
            go.await();
          }
          wire.send(
              ScriptedOrigin.response(
                  200, "" + clock.get(), "Cache-Control: max-age=60, stale-while-revalidate=300"));
        });
    for (int i = 0; i < 5; i++) {
      get("/" + i);
    }
    after(70);
    for (int i = 0; i < 5; i++) {
      assertTrue(browser.get("/" + i).field("Cache-Status").contains("hit; ttl=-10"));
    }
    assertEquals(2, proxy.statistics().get(Statistics.Count.BACKGROUND), "an eighth");
    assertEquals(200, browser.get("/other").status());
    go.countDown();
    await(() -> proxy.fetches().underWay() == 0);
    for (int i = 0; i < 5; i++) {
      var path = "/" + i;
      await(() -> get(path).body().equals("" + clock.get()));
    }
  }

  @Test
  void whatIsForAllWhoShowCredentialsIsValidatedByThem() throws Exception {
    var shared = "Cache-Control: public, max-age=60, stale-while-revalidate=30";
    origin.then(200, "old", shared).then(200, "new", shared);
    get("/a", "Authorization: me");
    after(70);
    assertEquals("old", get("/a", "Authorization: you").body());
    await(() -> origin.count() == 2 && proxy.fetches().underWay() == 0);
    assertEquals("you", origin.requests().get(1).field("Authorization"));
    assertEquals("new", get("/a").body());
  }

  @Test
  void whatIsStaleMayServeWhenTheOriginFails() throws Exception {
    origin
        .then(200, "old", "Cache-Control: max-age=60, stale-if-error=30")
        .then(503, "no")
        .then((_, wire) -> wire.socket().close());
    get("/a");
    after(70);
    assertEquals("old", get("/a").body());
    assertEquals("old", get("/a").body(), "also if it cuts the connection");
    after(30);
    assertEquals(502, get("/a").status());
  }

  @ParameterizedTest
  @ValueSource(strings = {"must-revalidate", "proxy-revalidate", "s-maxage=60", "no-cache"})
  void whatMustBeValidatedIs504WhenTheOriginFails(String directive) throws Exception {
    origin
        .then(
            200, "old", "Cache-Control: max-age=60, stale-if-error=30, " + directive, "ETag: \"1\"")
        .then((_, wire) -> wire.socket().close());
    get("/a");
    after(70);
    assertEquals(504, get("/a").status());
  }

  @Test
  void anOriginThatIsNotThereIs502() throws Exception {
    origin.close();
    var answer = get("/a");
    assertEquals(502, answer.status());
    assertFalse(answer.has("Cache-Status"), "RFC 9211 §2: not on our own errors");
  }

  @Test
  void aResponseThatIsCutOffIsNotStored() throws Exception {
    origin
        .then(
            (_, wire) -> {
              wire.send(
                  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nCache-Control: max-age=60\r\n\r\nhalf");
              wire.socket().close();
            })
        .then(200, "whole", "Cache-Control: max-age=60");
    assertThrows(IOException.class, () -> browser.get("/a"));
    assertEquals("whole", browser().get("/a").body());
  }

  /** Else each that wakes too late would ask an origin that fails. */
  @Test
  void whoWakesWhenWhatArrivedWasBrokenOffFaresAsTheOthers() throws Exception {
    var what = "http://test/a";
    var fetch = new Fetch();
    assertNull(proxy.fetches().begin(what, fetch));
    origin.then(200, "anew");
    browser.ask("GET", "/a");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    var response = ResponseHead.of(200, Fields.of("Cache-Control", "max-age=60"));
    var life = Life.of(response, clock.get(), clock.get(), CacheRules.DEFAULT);
    var head = StoredHead.encode(200, life, response.fields());
    var entry = new Entry(Proxy.segment(what), head, proxy.storage().stamp(), 5);
    var arrival = new Arrival(entry, proxy.storage(), new Recipient());
    arrival.breakOff(OriginFailure.of(new IncompleteMessageException("it ends early")));
    arrival.close();
    fetch.decide(new Fetch.Arriving(arrival));
    assertEquals(502, browser.receive().status());
    proxy.fetches().end(what, fetch);
    assertEquals("anew", get("/a").body());
    assertEquals(1, origin.count());
  }

  /** RFC 9111 §1.2.2, §5.1. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      textBlock =
          """
          -5          ; ''
          5s          ; ''
          20, 30      ; 20
          99999999999 ; 2147483648
          """)
  void anAgeIsForwardedAsItIsUnderstood(String age, String told) throws Exception {
    origin
        .then(200, "kept", "Cache-Control: max-age=60", "ETag: \"1\"", "Age: " + age)
        .then(200, "passed", "Cache-Control: no-store", "Age: " + age);
    assertEquals(told, get("/a").field("Age"));
    assertEquals(told, get("/b").field("Age"));
    if (told.isEmpty()) {
      assertEquals("0", get("/a").field("Age"), "it does not count");
    }
  }

  /** The head of a response whose body has chunks. */
  private static String chunked(String field) {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + field + "\r\n\r\n";
  }

  @Test
  void chunksWithoutAnEndAreNotStored() throws Exception {
    origin
        .then(
            (_, wire) -> {
              wire.send(chunked("Cache-Control: max-age=60"));
              wire.send("4\r\nhalf\r\n");
              wire.socket().close();
            })
        .then(200, "whole", "Cache-Control: max-age=60");
    assertThrows(IOException.class, () -> browser.get("/a"));
    assertEquals("whole", browser().get("/a").body());
  }

  @Test
  void aResponseWithTwoLengthsIs502() throws Exception {
    origin.then(
        (_, wire) ->
            wire.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n"
                    + "Cache-Control: max-age=60\r\n\r\nbody"));
    assertEquals(502, get("/a").status());
    assertEquals(502, get("/a").status(), "nothing was stored");
  }

  @Test
  void purgedIsGone() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(200, "2", "Cache-Control: max-age=60");
    get("/a");
    browser.ask("PURGE", "/a");
    assertEquals(200, browser.receive().status());
    assertEquals(1, proxy.statistics().get(Statistics.Count.PURGES));
    assertEquals("2", get("/a").body());
    assertEquals(2, origin.count());
  }

  @Test
  void aSoftPurgeValidates() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60", "ETag: \"1\"").then(304, "");
    get("/a");
    browser.ask("PURGE", "/a", "Purge-Mode: soft");
    browser.receive();
    var answer = get("/a");
    assertEquals("1", answer.body());
    assertTrue(answer.field("Cache-Status").contains("fwd-status=304"));
    assertTrue(status("/a").contains("hit"));
  }

  @ParameterizedTest
  @CsvSource({
    "false, 127.0.0.1:8080,,                           200",
    "false, localhost,      http://localhost,          200",
    "false, evil.example,   http://evil.example,       403",
    "false, evil.example,,                             403",
    "false, 127.0.0.1:8080, http://evil.example,       403",
    "true,  test,,                                     200",
    "true,  test,           http://test,               200",
    "true,  test,           http://evil.example,       403",
    "true,  test,           null,                      403"
  })
  void noPageOfAnotherSitePurges(boolean keptHost, String host, String page, int status)
      throws Exception {
    restart(settings().withKeptHost(keptHost));
    origin.then(200, "1", "Cache-Control: max-age=60");
    get("/a");
    var from = page == null ? "" : "Origin: " + page + "\r\n";
    browser.send("PURGE /a HTTP/1.1\r\nHost: " + host + "\r\n" + from + "\r\n");
    assertEquals(status, browser.receive().status());
    assertEquals(status == 403, status("/a").contains("hit"));
  }

  @Test
  void aSoftPurgeIsTheEndOfALife() throws Exception {
    origin
        .then(200, "1", "Cache-Control: max-age=60, stale-while-revalidate=10, stale-if-error=20")
        .then(503, "no");
    get("/a");
    after(5);
    browser.ask("PURGE", "/a", "Purge-Mode: soft");
    browser.receive();
    after(8);
    assertEquals("evergreen; hit; ttl=-8", status("/a"));
    after(3);
    assertTrue(status("/a").startsWith("evergreen; fwd=stale"), "RFC 5861 §3");
    assertEquals("1", get("/a").body(), "RFC 5861 §4");
    after(10);
    assertEquals(503, get("/a").status());
  }

  @Test
  void othersMayNotPurge() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60");
    get("/a");
    browser.ask("PURGE", "/a", "X-Forwarded-For: 192.0.2.1");
    assertEquals(403, browser.receive().status());
    assertTrue(status("/a").contains("hit"));
  }

  @ParameterizedTest
  @CsvSource({"/other, true", "/a, false"})
  void anInvalidationDetachesOnlyWhatItIsAbout(String posted, boolean joined) throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (request, wire) -> {
          if (request.line().startsWith("GET")) {
            go.await();
          }
          wire.send(ScriptedOrigin.response(200, "1", "Cache-Control: max-age=60"));
        });
    browser.ask("GET", "/a");
    origin.next();
    var other = browser();
    other.send("POST " + posted + " HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
    assertEquals(200, other.receive().status());
    origin.next();
    other.ask("GET", "/a");
    await(() -> origin.count() == 3 || proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    assertEquals(joined ? 2 : 3, origin.count());
    go.countDown();
    assertEquals("1", browser.receive().body());
    assertEquals("1", other.receive().body());
  }

  @Test
  void whatIsPurgedWhileItIsFetchedIsGone() throws Exception {
    var go = new CountDownLatch(1);
    origin
        .then(
            (_, wire) -> {
              go.await();
              wire.send(ScriptedOrigin.response(200, "old", "Cache-Control: max-age=60"));
            })
        .then(200, "new", "Cache-Control: max-age=60");
    browser.ask("GET", "/a");
    origin.next();
    var other = browser();
    other.ask("PURGE", "/a");
    assertEquals(200, other.receive().status());
    assertEquals("new", other.get("/a").body(), "who asks after the purge does not wait for it");
    go.countDown();
    assertEquals("old", browser.receive().body());
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("new", get("/a").body());
  }

  @Test
  void fieldsOfOneConnectionAreNotForwarded() throws Exception {
    origin.then(200, "1", "Connection: X-Back", "X-Back: 1", "Keep-Alive: timeout=5");
    var answer = get("/a", "Connection: X-There", "X-There: 1", "Proxy-Authorization: x");
    var request = origin.next();
    assertFalse(request.has("X-There"));
    assertFalse(request.has("Proxy-Authorization"));
    assertEquals("1.1 evergreen", request.field("Via"));
    assertEquals("test", request.field("Host"));
    assertEquals("127.0.0.1", request.field("X-Forwarded-For"));
    assertEquals("for=127.0.0.1;proto=http;host=\"test\"", request.field("Forwarded"));
    assertFalse(answer.has("X-Back"));
    assertEquals("1.1 evergreen", answer.field("Via"));
    assertTrue(answer.has("Date"));
  }

  @Test
  void whatStrangersSayOfTheirClientDoesNotCount() throws Exception {
    origin.then(200, "1");
    get("/a", "X-Forwarded-For: 192.0.2.1", "Forwarded: for=x", "X-Forwarded-Host: evil");
    var request = origin.next();
    assertEquals("127.0.0.1", request.field("X-Forwarded-For"));
    assertEquals("test", request.field("X-Forwarded-Host"));
  }

  @Test
  void bodiesInChunksAreForwarded() throws Exception {
    origin.then(200, "1");
    browser.send(
        "POST /a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n");
    assertEquals(200, browser.receive().status());
    assertEquals("body", origin.next().body());
  }

  @Test
  void anEndOfAKeptConnectionIsNotSeenByTheClient() throws Exception {
    origin
        .then(
            (_, wire) -> {
              wire.send(ScriptedOrigin.response(200, "1"));
            })
        .then((_, wire) -> wire.socket().close())
        .then(200, "2");
    assertEquals("1", get("/a").body());
    assertEquals("2", get("/a").body(), "asked again on a new connection");
    assertEquals(3, origin.count());
  }

  @Test
  void whatMayHaveHadAnEffectIsNotSentAgain() throws Exception {
    origin.then(200, "1").then((_, wire) -> wire.socket().close()).then(200, "2");
    get("/a");
    browser.send("POST /a HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
    assertEquals(502, browser.receive().status());
    assertEquals(2, origin.count());
  }

  @Test
  void eventsAreForwardedAsTheyCome() throws Exception {
    var more = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          wire.send(chunked("Content-Type: text/event-stream"));
          wire.send("9\r\ndata: 1\n\n\r\n");
          more.await();
          wire.send("9\r\ndata: 2\n\n\r\n0\r\n\r\n");
        });
    browser.ask("GET", "/events");
    while (!browser.line().isEmpty()) {}
    browser.line();
    assertEquals("data: 1\n\n", browser.read(9));
    more.countDown();
    browser.line();
    browser.line();
    assertEquals("data: 2\n\n", browser.read(9));
  }

  @Test
  void bytesPassBothWaysAfterAnUpgrade() throws Exception {
    origin.then(
        (request, wire) -> {
          assertEquals("websocket", request.field("Upgrade"));
          wire.send("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello");
          wire.send(new String(wire.in().readNBytes(4), ISO_8859_1) + "!");
          wire.socket().close();
        });
    browser.ask("GET", "/socket", "Connection: upgrade", "Upgrade: websocket");
    var answer = browser.receive();
    assertEquals(101, answer.status());
    assertEquals("hello", browser.read(5));
    browser.send("ping");
    assertEquals("ping!", browser.read(5));
  }

  @Test
  void anOriginDoesNotLeaveHttpAmidTheRequest() throws Exception {
    origin.then(
        (_, wire) -> wire.send("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\n"));
    browser.send("POST /a HTTP/1.1\r\nHost: test\r\nX-Unread: 1\r\nConnection: upgrade\r\n");
    browser.send("Upgrade: foo\r\nContent-Length: 4\r\n\r\nbo");
    assertEquals(502, browser.receive().status());
  }

  @Test
  void trailersAreForwardedButForThoseOfTheConnection() throws Exception {
    origin.then(
        (_, wire) -> {
          wire.send(chunked("Connection: X-Mine"));
          wire.send("4\r\nbody\r\n0\r\nX-Mine: 1\r\nX-Sum: 2\r\nHost: evil\r\n\r\n");
        });
    browser.ask("GET", "/a", "TE: trailers, gzip", "Connection: TE");
    while (!browser.line().isEmpty()) {}
    var asked = origin.next();
    assertEquals("trailers TE", asked.field("TE") + " " + asked.field("Connection"), "§10.1.4");
    var expected = "4\r\nbody\r\n0\r\nX-Sum: 2\r\n\r\n";
    assertEquals(expected, browser.read(expected.length()), "RFC 9110 §7.6.1");
  }

  @Test
  void whatTheCacheDidIsSaidBehindWhatOthersSay() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60", "Cache-Status: other; hit");
    get("/a");
    var said =
        get("/a").fields().stream().filter(line -> line.startsWith("Cache-Status:")).toList();
    assertEquals(
        List.of("Cache-Status: other; hit", "Cache-Status: evergreen; hit; ttl=60"),
        said,
        "RFC 9211 §2");
  }

  @Test
  void informationIsForwarded() throws Exception {
    origin.then(
        (_, wire) ->
            wire.send("HTTP/1.1 103 X\r\nLink: </s>\r\n\r\n" + ScriptedOrigin.response(200, "1")));
    browser.ask("GET", "/a");
    assertEquals(103, browser.receive().status());
    assertEquals("1", browser.receive().body());
  }

  @Test
  void anAnswerBeforeTheBodysEndIsForwarded() throws Exception {
    origin.then(
        (_, wire) -> {
          wire.send(ScriptedOrigin.response(413, "too much", "Connection: close"));
          wire.socket().shutdownOutput();
        });
    browser.send(
        "POST /a HTTP/1.1\r\nHost: test\r\nX-Unread: 1\r\nContent-Length: 1000000\r\n\r\nbegin");
    assertEquals("too much", browser.receive().body());
  }

  @Test
  void theLastHopAnswersHere() throws Exception {
    browser.ask("OPTIONS", "/a", "Max-Forwards: 0");
    assertEquals(204, browser.receive().status());
    browser.ask("TRACE", "/a", "Max-Forwards: 0", "Cookie: secret");
    var trace = browser.receive();
    assertTrue(trace.body().contains("TRACE /a"));
    assertFalse(trace.body().contains("secret"));
    browser.ask("CONNECT", "test:443");
    var refused = browser.receive();
    assertEquals(405, refused.status());
    assertTrue(refused.has("Allow"), "RFC 9110 §15.5.6");
    assertEquals(0, origin.count());
  }

  @Test
  void a304ThatVariesByMoreIsForWhoHasAsked() throws Exception {
    origin
        .then(200, "page", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(304, "", "Cache-Control: max-age=60", "ETag: \"1\"", "Vary: Cookie")
        .then(200, "other page", "Cache-Control: max-age=60", "ETag: \"2\"", "Vary: Cookie");
    get("/a", "Cookie: me");
    after(61);
    var validated = get("/a", "Cookie: me");
    assertEquals("page", validated.body());
    assertEquals("Cookie", validated.field("Vary"), "RFC 9111 §3.2");
    assertEquals("other page", get("/a", "Cookie: you").body(), "RFC 9111 §4.1");
    assertEquals("evergreen; hit; ttl=60", status("/a", "Cookie: me"));
    assertEquals("page", get("/a", "Cookie: me").body());
    assertEquals(3, origin.count());
  }

  @Test
  void a304OfOneVariantMayTellThatAllVaryByMore() throws Exception {
    origin
        .then(200, "page", "Cache-Control: max-age=60", "ETag: \"1\"", "Vary: X")
        .then(304, "", "Cache-Control: max-age=60", "ETag: \"1\"", "Vary: X, Cookie")
        .then(200, "other page", "Cache-Control: max-age=60", "ETag: \"2\"", "Vary: X, Cookie");
    get("/a", "X: 1", "Cookie: me");
    after(61);
    get("/a", "X: 1", "Cookie: me");
    assertEquals("other page", get("/a", "X: 1", "Cookie: you").body());
    assertEquals("page", get("/a", "X: 1", "Cookie: me").body());
    assertEquals("other page", get("/a", "X: 1", "Cookie: you").body());
    assertEquals(3, origin.count());
  }

  @Test
  void whatA304MakesVaryByEverythingIsKeptNoMore() throws Exception {
    origin
        .then(200, "page", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(304, "", "ETag: \"1\"", "Vary: *")
        .then(200, "other page", "Cache-Control: max-age=60");
    get("/a");
    after(61);
    assertEquals("page", get("/a").body());
    assertEquals("other page", get("/a").body());
  }

  @Test
  void whatVariesByMoreAndIsTooLargeToBeCopiedIsFetchedAnew() throws Exception {
    var large = "x".repeat(300 << 10);
    origin
        .then(200, large, "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(304, "", "Cache-Control: max-age=60", "ETag: \"1\"", "Vary: Cookie")
        .then(200, large, "Cache-Control: max-age=60", "ETag: \"1\"", "Vary: Cookie")
        .then(200, "other page", "Cache-Control: max-age=60", "Vary: Cookie");
    get("/a", "Cookie: me");
    after(61);
    assertTrue(large.equals(get("/a", "Cookie: me").body()));
    assertFalse(origin.requests().get(2).has("If-None-Match"));
    assertEquals("other page", get("/a", "Cookie: you").body());
    assertEquals("evergreen; hit; ttl=60", status("/a", "Cookie: me"));
    assertEquals(4, origin.count());
  }

  @Test
  void anAnswerToHeadMayTellThatGetVariesByMore() throws Exception {
    origin
        .then(200, "page", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(
            (_, wire) ->
                wire.send(
                    ScriptedOrigin.response(
                            200, "page", "ETag: \"1\"", "Cache-Control: max-age=60", "Vary: Cookie")
                        .replace("page", "")))
        .then(200, "other page", "Cache-Control: max-age=60", "Vary: Cookie");
    get("/a");
    after(61);
    assertEquals("Cookie", browser.head("/a", "Cookie: me").field("Vary"));
    assertEquals("other page", get("/a", "Cookie: you").body());
  }

  @Test
  void connectionHidesNeitherByWhatAResponseVariesNorHowOldItIs() throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(
                    200,
                    "page of " + request.field("X"),
                    "Cache-Control: max-age=60",
                    "Connection: Vary, Age",
                    "Age: 7",
                    "Vary: X")));
    var first = get("/a", "X: me");
    assertEquals("page of me", first.body());
    assertEquals("7", first.field("Age"));
    assertEquals("7", get("/a", "X: me").field("Age"));
    var other = get("/a", "X: you");
    assertEquals("page of you", other.body());
    assertEquals("X", other.field("Vary"), "other caches have to know it, too");
  }

  @Test
  void ofSeveralVariantsTheNewestIsUsed() throws Exception {
    var old = "Date: " + HttpDate.format(START - 10_000);
    var fresh = "Cache-Control: max-age=600";
    origin
        .then(200, "new", fresh, "Vary: X", "Date: " + HttpDate.format(START))
        .then(200, "old", fresh, "Vary: X, Y", old);
    get("/a", "X: 1", "Y: 1");
    assertEquals("old", get("/a", "X: 2", "Y: 1").body());
    // Another one has stored this, of a slow origin, for the same.
    var both = new Vary(List.of("x", "y"));
    var head = headOf("http://test/a", Fields.of("X", "2", "Y", "1"));
    store("http://test/a", Variants.write(both, Fields.of("X", "1", "Y", "1")), head, "old");
    assertEquals("new", get("/a", "X: 1", "Y: 1").body(), "RFC 9111 §4");
    assertEquals(2, origin.count());
  }

  /** The head of what is stored for a request. */
  private byte[] headOf(String key, Fields request) {
    try (var found = proxy.storage().find(Proxy.segment(key), new Variants(request))) {
      assertNotNull(found);
      var head = new byte[found.head().remaining()];
      found.head().get(head);
      return head;
    }
  }

  /** Stores what no origin has just sent. */
  private void store(String key, byte[] variant, byte[] head, String body) throws IOException {
    long stamp = proxy.storage().stamp();
    var entry = new Entry(Proxy.segment(key), variant, head, List.of(), stamp, body.length());
    try (var appender = proxy.storage().append(entry)) {
      appender.append(ByteBuffer.wrap(body.getBytes(ISO_8859_1)));
      assertTrue(appender.commit());
    }
  }

  @Test
  void a304ThatSaysNothingIsNotAboutWhatCameMeanwhile() throws Exception {
    var fresh = "Cache-Control: max-age=60";
    origin
        .then(200, "old", fresh, "Vary: X", "ETag: \"1\"")
        .then(200, "new", fresh, "Vary: X", "ETag: \"2\"")
        .then(
            (_, wire) -> {
              var request = Fields.of("X", "1");
              var variant = Variants.write(new Vary(List.of("x")), request);
              store("http://test/a", variant, headOf("http://test/b", request), "new");
              wire.send("HTTP/1.1 304 X\r\n\r\n");
            })
        .then(200, "other", fresh, "Vary: X");
    get("/a", "X: 1");
    get("/b", "X: 1");
    assertEquals("other", get("/a", "X: 2").body());
    assertEquals("\"1\"", origin.requests().get(2).field("If-None-Match"));
    assertFalse(origin.requests().get(3).has("If-None-Match"));
  }

  /** Seen: what is stored for who has asked was taken to be right, as nothing else was left. */
  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      textBlock =
          """
          X-No: tag , `"1"`
          ETag: "2" , `"2", "1"`
          """)
  void a304ThatSaysNothingMayBeAboutWhatHasGoneMeanwhile(String validator, String asked)
      throws Exception {
    var fresh = "Cache-Control: max-age=60";
    origin
        .then(200, "other", fresh, "Vary: X", "ETag: \"1\"", "Cache-Tag: other")
        .then(200, "own", fresh, "Vary: X", validator)
        .then(
            (_, wire) -> {
              proxy.purge(Purge.tag(Tags.tag("other")));
              wire.send("HTTP/1.1 304 X\r\n\r\n");
            })
        .then(200, "other", fresh, "Vary: X");
    get("/a", "X: 1");
    get("/a", "X: 2");
    after(61);
    assertEquals("other", get("/a", "X: 2").body(), "the origin has meant what it was asked about");
    assertEquals(asked, origin.requests().get(2).field("If-None-Match"));
    assertFalse(origin.requests().get(3).has("If-None-Match"));
  }

  /** Seen: nobody was answered any more, as it could not be stored by what it varies. */
  @Test
  void whatA304MakesVaryByMoreThanCanBeKeptIsValidatedEachTime() throws Exception {
    var names =
        IntStream.range(0, Entry.MAX_VARIANT / 8).mapToObj(i -> "name-" + i).collect(joining(","));
    origin
        .then(200, "page", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(304, "", "Cache-Control: max-age=60", "ETag: \"1\"", "Vary: " + names);
    get("/a");
    after(61);
    for (int asked = 2; asked < 5; asked++) {
      assertEquals("page", get("/a").body());
      assertEquals(asked, origin.count());
    }
    assertEquals("\"1\"", origin.requests().getLast().field("If-None-Match"));
  }

  /** A head whose fields are none, as no version writes it. */
  private byte[] unreadable() {
    var life = new Life(clock.get(), 0, 60, false, false, false, 0, 0);
    var head = StoredHead.encode(200, life, Fields.of("X", "1"));
    head[head.length - 1] = 'n';
    return head;
  }

  /** Seen: all who asked for it then waited for a question that nobody asked. */
  @Test
  void whoFailsBeforeItAsksTheOriginKeepsNobodyWaiting() throws Exception {
    store("http://test/a", new byte[0], unreadable(), "body");
    after(61);
    assertEquals(500, browser.get("/a").status());
    assertEquals(0, proxy.fetches().underWay());
  }

  @Test
  void ofWhatIsStoredForOthersOnlyWhatCanBeReadIsAskedAbout() throws Exception {
    origin.then(200, "own", "Cache-Control: max-age=60", "Vary: X");
    var variant = Variants.write(new Vary(List.of("x")), Fields.of("X", "2"));
    store("http://test/a", variant, unreadable(), "body");
    assertEquals("own", browser.get("/a", "X: 1").body());
    assertFalse(origin.requests().getFirst().has("If-None-Match"));
  }

  @Test
  void onlyWhatTheOriginHasNotJustSaidHasAnAge() throws Exception {
    origin
        .then(200, "1", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(304, "", "Cache-Control: max-age=60", "ETag: \"1\"")
        .then(304, "", "Cache-Control: max-age=60", "ETag: \"1\"", "Age: 7");
    assertFalse(get("/a").has("Age"), "RFC 9111 §5.1: it was made for this request");
    assertEquals("0", get("/a").field("Age"), "RFC 9111 §4");
    after(61);
    assertFalse(get("/a").has("Age"), "RFC 9111 §5.1: it was validated for this request");
    after(61);
    assertEquals("7", get("/a").field("Age"), "another cache has validated it");
    assertEquals(3, origin.count());
  }

  @Test
  void whatComesFromAnotherCacheHasItsAge() throws Exception {
    origin
        .then(
            (_, wire) -> {
              after(5);
              wire.send(ScriptedOrigin.response(200, "1", "Cache-Control: max-age=60", "Age: 7"));
            })
        .then(200, "2", "Age: 8");
    assertEquals("7", get("/a").field("Age"), "RFC 9111 §4.2.3: the next one sees the delay, too");
    assertEquals("12", get("/a").field("Age"));
    assertEquals("8", get("/b").field("Age"));
  }

  /** Another one's clock is right, and so is this machine's once it was set. */
  @Test
  void datesAreToldByTheClockThatIsSet() throws Exception {
    var ahead = 3_600_000L;
    restart(settings().withTimes(new Times(() -> clock.get() + ahead, clock::get)));
    origin
        .then(200, "1", "Cache-Control: max-age=60", "Date: " + HttpDate.format(START))
        .then(200, "2", "Cache-Control: max-age=60");
    get("/a");
    var hit = get("/a");
    assertEquals("0", hit.field("Age"), "it is as old as its Date says");
    assertEquals("evergreen; hit; ttl=60", hit.field("Cache-Status"));
    after(59);
    assertEquals("evergreen; hit; ttl=1", status("/a"));
    after(1);
    assertEquals(HttpDate.format(clock.get()), get("/a").field("Date"), "RFC 9110 §6.6.1");
  }

  @Test
  void aFailureMayBeKeptThoughItsOriginDoesNotSaySo() throws Exception {
    var rules = CacheRules.DEFAULT;
    restart(
        settings()
            .withRules(
                new CacheRules(
                    rules.targets(),
                    rules.heuristicShare(),
                    rules.heuristicMost(),
                    rules.staleIfError(),
                    Map.of(404, Duration.ofSeconds(10)))));
    origin.then(404, "1").then(404, "2");
    assertEquals("1", get("/a").body());
    assertEquals("evergreen; hit; ttl=10", status("/a"));
    after(10);
    assertEquals("2", get("/a").body());
    assertEquals(2, origin.count());
  }

  @ParameterizedTest
  @CsvSource({
    "'Cache-Control: max-age=60, stale-if-error=30', 200",
    "'Cache-Control: max-age=60, must-revalidate', 504"
  })
  void whoIsNotWaitedForFaresLikeOthersWhenTheOriginFails(String kept, int status)
      throws Exception {
    origin.then(200, "page", kept, "ETag: \"1\"");
    get("/a");
    after(61);
    proxy.fetches().remember("http://test/a", clock.get() + 10_000);
    origin.close();
    assertEquals(status, get("/a", "If-None-Match: \"0\"").status());
  }

  @Test
  void whatIsValidatedInTheBackgroundStaysWhenTheOriginFails() throws Exception {
    origin
        .then(
            200,
            "page",
            "Cache-Control: max-age=60, stale-while-revalidate=300, stale-if-error=300")
        .then(503, "trouble", "Cache-Control: max-age=60")
        .then(200, "new page", "Cache-Control: max-age=60");
    get("/a");
    after(61);
    assertEquals("page", get("/a").body());
    await(() -> origin.count() == 2 && proxy.fetches().underWay() == 0);
    var still = get("/a");
    assertEquals(200, still.status(), "RFC 5861 §4");
    assertEquals("page", still.body());
    await(() -> get("/a").body().equals("new page"));
  }

  @Test
  void a304InTheBackgroundAboutNothingThatIsStoredIsAskedAgain() throws Exception {
    origin
        .then(200, "old", "Cache-Control: max-age=60, stale-while-revalidate=300", "ETag: \"1\"")
        .then(304, "", "ETag: \"9\"")
        .then(200, "new", "Cache-Control: max-age=60");
    get("/a");
    after(61);
    assertEquals("old", get("/a").body());
    await(() -> get("/a").body().equals("new"));
    assertFalse(origin.requests().get(2).has("If-None-Match"));
    assertEquals(3, origin.count());
  }

  /** The whole comes, too, but as slowly as it likes. */
  @Test
  void aPartFarFromTheBeginningIsNotWaitedFor() throws Exception {
    restart(settings().withStorage(StorageOptions.memory(256 << 20)));
    var go = new CountDownLatch(1);
    var length = 3 << 20;
    origin
        .then(
            (_, wire) -> {
              wire.send(
                  "HTTP/1.1 200 OK\r\nContent-Length: "
                      + length
                      + "\r\nAccept-Ranges: bytes\r\nCache-Control: max-age=60\r\n\r\n");
              go.await();
              wire.send("x".repeat(length));
            })
        .then(206, "end", "Content-Range: bytes 3145725-3145727/3145728");
    var first = browser();
    first.ask("GET", "/a");
    assertFalse(origin.next().has("Range"));
    var part = browser.get("/a", "Range: bytes=-3");
    assertEquals(206, part.status());
    assertEquals("end", part.body());
    assertEquals("bytes=-3", origin.next().field("Range"));
    var other = browser();
    other.ask("GET", "/a", "Range: bytes=2000000-2000002");
    assertEquals(206, other.receive().status());
    assertEquals("bytes=2000000-2000002", origin.next().field("Range"), "also for who comes later");
    go.countDown();
    assertEquals(length, first.receive().body().length());
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("xxx", get("/a", "Range: bytes=-3").body());
    assertEquals(3, origin.count());
  }

  @Test
  void aPartOfWhatIsNotKeptIsAskedForAsSuch() throws Exception {
    origin
        .then(200, "x".repeat(3 << 20), "Accept-Ranges: bytes", "Cache-Control: private")
        .then(206, "end", "Content-Range: bytes 3145725-3145727/3145728");
    assertEquals(206, get("/a", "Range: bytes=-3").status());
    assertEquals("bytes=-3", origin.requests().get(1).field("Range"));
  }
}

package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Purge;
import dev.evergreen.proxy.storage.Recipient;
import dev.evergreen.proxy.storage.Storage;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Parts of responses that are stored, used and joined (RFC 9111 §3.3, §3.4). */
@Timeout(60)
class PartialContentTest extends WithOneProxy {

  private static final String FRESH = "Cache-Control: max-age=60";
  private static final String TAG = "ETag: \"1\"";
  private static final String TEXT = "0123456789";
  private static final String ALPHABET = "abcdefghijklmnopqrstuvwxyz";

  @TempDir private Path folder;

  PartialContentTest() throws IOException {}

  private void restart(StorageOptions storage) throws IOException {
    restart(settings().withStorage(storage));
  }

  private Browser.Answer get(String... fields) throws IOException {
    return ask("/a", fields);
  }

  /** A part of the text, as an origin sends it. */
  private static String part(int first, int last, String... fields) {
    var all = new ArrayList<>(List.of(fields));
    all.add("Content-Range: bytes %d-%d/%d".formatted(first, last, TEXT.length()));
    return ScriptedOrigin.response(
        206, TEXT.substring(first, last + 1), all.toArray(String[]::new));
  }

  private ScriptedOrigin thenPart(int first, int last, String... fields) {
    return origin.then((_, wire) -> wire.send(part(first, last, fields)));
  }

  /** The cache-tests of the HTTP working group want the same of a part whose length is right. */
  @ParameterizedTest
  @CsvSource({
    "bytes=-5, 56789, 5-9",
    "bytes=6-8, 678, 6-8",
    "bytes=6-, 6789, 6-9",
    "bytes=-1, 9, 9-9",
    "'bytes=5-5', 5, 5-5"
  })
  void aPartIsStoredAndAnswersWhatLiesWithinIt(String range, String body, String told)
      throws Exception {
    thenPart(5, 9, FRESH, TAG, "X: y", "Content-Type: text/plain");
    var first = get("Range: bytes=-5");
    assertEquals("bytes=-5", origin.next().field("Range"));
    assertEquals("56789", first.body());
    assertEquals(
        "evergreen; fwd=uri-miss; fwd-status=206; ttl=60; stored", first.field("Cache-Status"));
    after(5);
    var hit = get("Range: " + range);
    assertEquals(206, hit.status());
    assertEquals(body, hit.body());
    assertEquals("bytes " + told + "/10", hit.field("Content-Range"));
    assertEquals("y", hit.field("X"));
    assertEquals("5", hit.field("Age"));
    assertEquals("evergreen; hit; ttl=55", hit.field("Cache-Status"));
    assertEquals(1, origin.count());
  }

  @Test
  void aPartIsCompletedByWhatIsMissing() throws Exception {
    thenPart(0, 4, FRESH, TAG, "X: old", "Content-Type: text/plain");
    thenPart(5, 9, FRESH, TAG, "X: new");
    get("Range: bytes=0-4");
    origin.next();
    var whole = get();
    var asked = origin.next();
    assertEquals("bytes=5-", asked.field("Range"));
    assertEquals("\"1\"", asked.field("If-Range"));
    assertEquals(200, whole.status());
    assertEquals(TEXT, whole.body());
    assertEquals("10", whole.field("Content-Length"));
    assertFalse(whole.has("Content-Range"));
    assertEquals("new", whole.field("X"), "RFC 9111 §3.4");
    assertEquals("text/plain", whole.field("Content-Type"), "it need not be told again");
    assertEquals(
        "evergreen; fwd=partial; fwd-status=206; ttl=60; stored", whole.field("Cache-Status"));
    assertEquals(TEXT, get().body());
    assertEquals("345", get("Range: bytes=3-5").body());
    assertTrue(get("Range: bytes=0-0,9-9").body().contains("bytes 9-9/10\r\n\r\n9\r\n"));
    assertEquals(2, origin.count());
  }

  @Test
  void onlyWhatIsMissingOfAPartIsAskedFor() throws Exception {
    thenPart(0, 2, FRESH, TAG);
    thenPart(7, 9, FRESH, TAG);
    thenPart(3, 6, FRESH, TAG);
    get("Range: bytes=0-2");
    get("Range: bytes=7-9");
    assertEquals("12345678", get("Range: bytes=1-8").body());
    assertEquals("bytes=3-6", origin.requests().getLast().field("Range"));
    assertEquals(TEXT, get().body());
    assertEquals(3, origin.count());
  }

  /** Each part that is held may need a buffer, for as long as the client takes its answer. */
  @Test
  void onlyWhatIsOfUseIsHeld() throws Exception {
    for (int first : List.of(0, 2, 4, 6, 8)) {
      thenPart(first, first + 1, FRESH, TAG);
      get("Range: bytes=%d-%d".formatted(first, first + 1));
    }
    assertEquals(List.of("8-9"), held());
    assertEquals(List.of("8-9", "2-3"), held("2-3"));
    assertEquals(List.of("8-9", "2-3", "4-5"), held("3-4"));
    assertEquals(List.of("8-9", "0-1", "2-3", "4-5", "6-7"), held("0-9"));
  }

  @Test
  void whatLiesAmidWhatIsMissingIsNotHeld() throws Exception {
    for (int first : List.of(0, 4, 8)) {
      thenPart(first, first + 1, FRESH, TAG);
      get("Range: bytes=%d-%d".formatted(first, first + 1));
    }
    assertEquals(List.of("8-9", "0-1"), held("1-8"));
    thenPart(2, 7, FRESH, TAG);
    assertEquals("12345678", get("Range: bytes=1-8").body());
    assertEquals("bytes=2-7", origin.requests().getLast().field("Range"));
  }

  /** Else a client that takes long would have the place of many parts. */
  @Test
  void manyPartsAreHeldOneAfterTheOther() throws Exception {
    for (int first = 0; first < TEXT.length(); first++) {
      thenPart(first, first, FRESH, TAG);
      get("Range: bytes=%d-%d".formatted(first, first));
    }
    var held = new AtomicInteger();
    var all = List.of(new ByteRange(0, 9));
    var key = "http://test/a";
    try (var parts =
        Incomplete.find(
            counting(proxy.storage(), held), key, Fields.of(), (_, _) -> all, new Recipient())) {
      assertNotNull(parts);
      assertEquals(TEXT.length(), parts.ranges().size());
      var whole = parts.asWhole().lease();
      for (int i = 0; i < TEXT.length(); i++) {
        assertEquals(TEXT.charAt(i), whole.read(i, Long.MAX_VALUE)[0].get());
        assertTrue(held.get() <= 6, held + " are held");
      }
    }
    assertEquals(0, held.get());
    assertEquals(TEXT, get().body());
    assertEquals(TEXT.length(), origin.count());
  }

  /** The storage, which counts the leases that are not closed. */
  private static Storage counting(Storage storage, AtomicInteger held) {
    return (Storage)
        java.lang.reflect.Proxy.newProxyInstance(
            Storage.class.getClassLoader(),
            new Class<?>[] {Storage.class},
            (_, method, arguments) -> {
              var result = method.invoke(storage, arguments);
              return switch (result) {
                case Lease lease -> counting(lease, held);
                case List<?> all -> all.stream().map(each -> counting((Lease) each, held)).toList();
                case null, default -> result;
              };
            });
  }

  private static Lease counting(Lease lease, AtomicInteger held) {
    held.incrementAndGet();
    return (Lease)
        java.lang.reflect.Proxy.newProxyInstance(
            Lease.class.getClassLoader(),
            new Class<?>[] {Lease.class},
            (_, method, arguments) -> {
              if (method.getName().equals("close")) {
                held.decrementAndGet();
              }
              return method.invoke(lease, arguments);
            });
  }

  private List<String> held(String... wanted) {
    var ranges = new ArrayList<ByteRange>();
    for (var each : wanted) {
      ranges.add(new ByteRange(each.charAt(0) - '0', each.charAt(2) - '0'));
    }
    try (var parts =
        Incomplete.find(
            proxy.storage(), "http://test/a", Fields.of(), (_, _) -> ranges, new Recipient())) {
      assertNotNull(parts);
      return parts.ranges().stream().map(each -> each.first() + "-" + each.last()).toList();
    }
  }

  @Test
  void whatIsAllThereIsIsTheWhole() throws Exception {
    thenPart(0, 9, FRESH);
    assertEquals("6789", get("Range: bytes=6-").body());
    var whole = get();
    assertEquals(200, whole.status());
    assertEquals(TEXT, whole.body());
    assertFalse(whole.has("Content-Range"));
    assertEquals(1, origin.count());
  }

  @Test
  void partsOfTwoVersionsAreNotJoined() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    origin.then(200, "another", FRESH, "ETag: \"2\"");
    get("Range: bytes=0-4");
    assertEquals("another", get().body());
    assertEquals("an", get("Range: bytes=0-1").body());
    assertEquals(2, origin.count());
  }

  /** Such an origin does not know If-Range. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "ETag: \"2\"",
        "ETag: W/\"1\"",
        "X: no tag",
        "ETag: \"1\"\r\nContent-Encoding: br"
      })
  void aPartThatMayBeOfAnotherVersionIsNotJoined(String tag) throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 9, FRESH, tag);
    origin.then(200, "the whole", FRESH, "ETag: \"2\"");
    get("Range: bytes=0-4");
    assertEquals("the whole", get().body());
    assertFalse(origin.requests().getLast().has("Range"));
    assertEquals(3, origin.count());
    assertEquals("the w", get("Range: bytes=0-4").body());
    assertEquals(3, origin.count());
  }

  @Test
  void aPartOfAnotherLengthIsNotJoined() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    origin
        .then(206, "5678", FRESH, TAG, "Content-Range: bytes 5-8/9")
        .then(200, "012345678", FRESH, TAG);
    get("Range: bytes=0-4");
    assertEquals("012345678", get().body());
    assertEquals(3, origin.count());
  }

  @Test
  void whoWantsMoreOfWhatHasNoStrongTagGetsTheWholeFetched() throws Exception {
    thenPart(5, 9, FRESH, "ETag: W/\"1\"");
    origin.then(200, TEXT, FRESH, "ETag: W/\"1\"");
    get("Range: bytes=5-9");
    assertEquals("78", get("Range: bytes=7-8").body());
    assertEquals(1, origin.count());
    assertEquals("45", get("Range: bytes=4-5").body());
    assertFalse(origin.requests().getLast().has("Range"));
    assertEquals(TEXT, get().body());
    assertEquals(2, origin.count());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bytes 4-9/10", // It is shorter.
        "bytes 5-9/*",
        "bytes 5-9/9",
        "bytes 9-5/10",
        "lines 5-9/10",
        "bytes 5-9/10\r\nContent-Range: bytes 5-9/10",
        "bytes 5-9/10\r\nContent-Type: multipart/byteranges; boundary=a",
        "bytes 5-9/10\r\nCache-Control: private",
        "bytes 5-9/10\r\nVary: *"
      })
  void whatIsUnclearOrForOneAloneIsPassedOnAndNotKept(String range) throws Exception {
    origin
        .then(206, "56789", FRESH, TAG, "Content-Range: " + range)
        .then(206, "again", FRESH, TAG, "Content-Range: " + range);
    var first = get("Range: bytes=-5");
    assertEquals(206, first.status());
    assertEquals("56789", first.body());
    assertEquals("again", get("Range: bytes=-5").body());
    assertEquals("bytes=-5", origin.requests().getLast().field("Range"));
  }

  @Test
  void anAnswerToOneRangeIsNotThatToAllThereIs() throws Exception {
    origin.then(416, "none", FRESH, "Content-Range: bytes */10").then(200, TEXT, FRESH);
    var none = get("Range: bytes=10-");
    assertEquals(416, none.status());
    assertEquals("bytes */10", none.field("Content-Range"));
    assertEquals(TEXT, get().body());
  }

  /** Many a firewall has an answer of its own to who wants a part. */
  @ParameterizedTest
  @ValueSource(ints = {400, 403, 405, 501})
  void anAnswerThatMayBeAboutTheRangeIsNotThatToAllThereIs(int status) throws Exception {
    origin.then(status, "no parts", FRESH).then(200, TEXT, FRESH);
    assertEquals(status, get("Range: bytes=1-2").status());
    assertEquals(TEXT, get().body());
  }

  /** RFC 9110 §13.2.2: whether the client has it already comes before what part it wants. */
  @Test
  void whoHasAllAlreadyIsToldSoWhateverItsRange() throws Exception {
    origin.then(416, "none", "Content-Range: bytes */10").then(304, "", TAG);
    assertEquals(304, get("Range: bytes=10-", "If-None-Match: \"1\"").status());
    var asked = origin.requests().getLast();
    assertEquals("\"1\"", asked.field("If-None-Match"));
    assertEquals("bytes=10-", asked.field("Range"));
  }

  @Test
  void whatIsMissingNoMoreIsAskedForAsAWhole() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    origin.then(416, "none", "Content-Range: bytes */5").then(200, "01234", FRESH);
    get("Range: bytes=0-4");
    assertEquals("01234", get().body());
    assertEquals(3, origin.count());
  }

  @Test
  void whatARangeThatIsNotThereContradictsIsUsedNoMore() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    origin
        .then(416, "none", "Content-Range: bytes */5")
        .then(200, "01234", "Cache-Control: no-store");
    get("Range: bytes=0-4");
    get("Range: bytes=3-9");
    assertEquals(3, origin.count());
    get("Range: bytes=0-4");
    assertEquals(4, origin.count());
  }

  @Test
  void theClientsOwnConditionsAreJudged() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    get("Range: bytes=0-4");
    assertEquals(304, get("If-None-Match: \"1\"").status(), "it needs no bytes");
    assertEquals(206, get("Range: bytes=0-1", "If-Range: \"1\"").status());
    assertEquals(1, origin.count());
    thenPart(5, 9, FRESH, TAG);
    var whole = get("Range: bytes=0-1", "If-Range: \"0\"");
    assertEquals(200, whole.status());
    assertEquals(TEXT, whole.body());
  }

  @Test
  void whatIsUnknownIsAskedForByTheClientsCondition() throws Exception {
    origin.then(200, TEXT, FRESH, TAG);
    assertEquals(200, get("Range: bytes=1-2", "If-Range: \"0\"").status());
    assertEquals("\"0\"", origin.next().field("If-Range"));
    assertEquals("12", get("Range: bytes=1-2").body());
    assertEquals(1, origin.count());
  }

  /** RFC 9110 §15.3.7: who asks by If-Range has the fields of the whole already. */
  @ParameterizedTest
  @CsvSource({"X: y, 2, text/plain", "Content-Type: text/html, 1, text/html"})
  void aPartThatMayLackFieldsIsNotForOthers(String field, int asked, String type) throws Exception {
    thenPart(0, 4, FRESH, TAG, field);
    thenPart(0, 4, FRESH, TAG, "Content-Type: text/plain");
    assertEquals("01234", get("Range: bytes=0-4", "If-Range: \"1\"").body());
    assertEquals(type, get("Range: bytes=0-4").field("Content-Type"));
    assertEquals(asked, origin.count());
  }

  @Test
  void staleOnesAreValidatedTogether() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 9, FRESH, TAG);
    origin.then(304, "", "Cache-Control: max-age=90", TAG);
    get("Range: bytes=0-4");
    get();
    after(61);
    var whole = get();
    assertEquals("\"1\"", origin.requests().getLast().field("If-None-Match"));
    assertEquals(TEXT, whole.body());
    assertEquals("evergreen; fwd=stale; fwd-status=304; ttl=90", whole.field("Cache-Status"));
    assertEquals("evergreen; hit; ttl=90", get("Range: bytes=0-1").field("Cache-Status"));
    assertEquals(3, origin.count());
  }

  @Test
  void whatMeanwhileIsAnotherIsNotJoinedWithWhatWas() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 9, FRESH, TAG);
    origin.then(206, "bc", FRESH, "ETag: \"2\"", "Content-Range: bytes 1-2/26");
    origin.then(200, ALPHABET, FRESH, "ETag: \"2\"");
    get("Range: bytes=0-4");
    get();
    after(61);
    assertEquals("bc", get("Range: bytes=1-2").body());
    var asked = origin.requests().getLast();
    assertEquals("\"1\"", asked.field("If-None-Match"));
    assertEquals("bytes=1-2", asked.field("Range"));
    assertEquals("bc", get("Range: bytes=1-2").body(), "a hit");
    assertEquals(3, origin.count());
    assertEquals("xyz", get("Range: bytes=-3").body());
    assertEquals(ALPHABET, get().body());
  }

  /** What cannot be stored tells nevertheless that there is something else now. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "ETag: \"2\"\r\nCache-Control: no-store",
        "ETag: \"2\"\r\nCache-Control: private",
        "ETag: \"2\"\r\nCache-Control: max-age=60\r\nVary: *"
      })
  void whatMeanwhileIsAnotherThatIsNotKeptEndsWhatWas(String now) throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 9, FRESH, TAG);
    thenPart(0, 4, now);
    thenPart(0, 4, FRESH, "ETag: \"2\"", "X: new");
    get("Range: bytes=0-4");
    get("Range: bytes=5-9");
    assertEquals("\"2\"", get("Range: bytes=0-4", "Cache-Control: no-cache").field("ETag"));
    assertEquals("new", get("Range: bytes=0-4").field("X"));
    assertEquals(4, origin.count());
  }

  /** Who asks with credentials may get something of its own. */
  @Test
  void whatIsForOneAloneEndsNothing() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(0, 4, "ETag: \"2\"", "Cache-Control: private");
    get("Range: bytes=0-4");
    get("Range: bytes=0-4", "Cache-Control: no-cache", "Authorization: me");
    assertEquals("\"1\"", get("Range: bytes=0-4").field("ETag"));
    assertEquals(2, origin.count());
  }

  /** The storage has one that is evicted no longer than one that a purge takes. */
  @Test
  void whatWasBeforeIsUsedNoMoreWhenWhatCameAfterItIsEvicted() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(0, 3, FRESH, "ETag: \"2\"", "Surrogate-Key: t");
    thenPart(0, 4, FRESH, "ETag: \"2\"");
    get("Range: bytes=0-4");
    assertEquals("\"2\"", get("Range: bytes=0-3", "Cache-Control: no-cache").field("ETag"));
    purge("tag", Proxy.segment("http://test/a"));
    assertEquals("\"2\"", get("Range: bytes=0-4").field("ETag"));
    assertEquals(3, origin.count());
  }

  @Test
  void whatIsAskedForEarlierAndComesLaterIsNotTheNewest() throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(part(0, 4, FRESH, TAG));
        });
    thenPart(5, 9, FRESH, "ETag: \"2\"");
    thenPart(0, 4, FRESH, "ETag: \"2\"", "X: new");
    browser.ask("GET", "/a", "Range: bytes=0-4");
    origin.next();
    assertEquals("56789", browser().get("/a", "Range: bytes=5-9").body());
    await(() -> proxy.fetches().underWay() == 1);
    go.countDown();
    assertEquals("01234", browser.receive().body());
    await(() -> proxy.fetches().underWay() == 0);
    assertTrue(status("Range: bytes=5-9").contains("hit"));
    assertEquals("new", get("Range: bytes=0-4").field("X"));
    assertEquals(3, origin.count());
  }

  /** An origin that has the whole for one, and a part for another. */
  @Test
  void whatIsWholeAndWasAskedForEarlierIsNotUsedBeforeAPart() throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(ScriptedOrigin.response(200, TEXT, FRESH, TAG, "Accept-Ranges: bytes"));
        });
    thenPart(5, 9, FRESH, "ETag: \"2\"");
    origin.then(200, TEXT, FRESH, "ETag: \"2\"");
    browser.ask("GET", "/a", "Range: bytes=0-4");
    origin.next();
    assertEquals("56789", browser().get("/a", "Range: bytes=5-9").body());
    await(() -> proxy.fetches().underWay() == 1);
    go.countDown();
    assertEquals("01234", browser.receive().body());
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("\"2\"", get("Range: bytes=5-9").field("ETag"));
  }

  /** By the whole that comes the parts are forgotten, also the one that is on its way. */
  @Test
  void aPartThatIsForgottenTellsOfAWholeThatWasAskedForEarlier() throws Exception {
    var whole = new CountDownLatch(1);
    var last = new CountDownLatch(1);
    thenPart(5, 9, FRESH, "ETag: \"0\"");
    origin.then(
        (_, wire) -> {
          whole.await();
          wire.send(ScriptedOrigin.response(200, TEXT, FRESH, TAG, "Accept-Ranges: bytes"));
        });
    thenPart(3, 4, FRESH, "ETag: \"2\"");
    origin.then(
        (_, wire) -> {
          last.await();
          wire.send(part(3, 9, FRESH, "ETag: \"2\""));
        });
    origin.then(200, TEXT, FRESH, "ETag: \"2\"");
    get("Range: bytes=5-9");
    origin.next();
    browser.ask("GET", "/a", "Range: bytes=0-4");
    origin.next();
    var other = browser();
    other.ask("GET", "/a", "Range: bytes=3-9");
    origin.next();
    assertEquals("bytes=3-9", origin.next().field("Range"));
    whole.countDown();
    assertEquals("01234", browser.receive().body());
    await(() -> proxy.fetches().underWay() == 1);
    last.countDown();
    assertEquals("3456789", other.receive().body());
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("\"2\"", get("Range: bytes=3-9").field("ETag"));
  }

  /** The storage has one that is evicted no longer than one that a purge takes. */
  @Test
  void aPartThatWasAskedForBeforeTheWholeIsNotUsedBehindIt() throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(part(0, 4, FRESH, TAG));
        });
    origin.then(200, TEXT, FRESH, "ETag: \"2\"", "Surrogate-Key: t");
    thenPart(0, 4, FRESH, "ETag: \"2\"");
    browser.ask("GET", "/a", "Range: bytes=0-4");
    origin.next();
    assertEquals(TEXT, browser().get("/a").body());
    await(() -> proxy.fetches().underWay() == 1);
    go.countDown();
    assertEquals("01234", browser.receive().body());
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("\"2\"", get("Range: bytes=0-4").field("ETag"));
    purge("tag", Proxy.segment("http://test/a"));
    assertEquals("\"2\"", get("Range: bytes=0-4").field("ETag"));
    assertEquals(3, origin.count());
  }

  /** As a whole response would take the place of another. */
  @Test
  void whatWasStoredLastIsUsedWhateverItsDate() throws Exception {
    thenPart(0, 4, FRESH, TAG, "Date: " + HttpDate.format(START));
    thenPart(0, 4, FRESH, "ETag: \"2\"", "Date: " + HttpDate.format(START - 5000));
    get("Range: bytes=0-4");
    get("Range: bytes=0-4", "Cache-Control: no-cache");
    assertEquals("\"2\"", get("Range: bytes=0-4").field("ETag"));
    assertEquals(2, origin.count());
  }

  /** Else those of the others would be used as soon as the newest is evicted. */
  @Test
  void allPartsEndWithTheNewest() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 9, FRESH, TAG);
    origin.then(304, "", "Cache-Control: private", TAG);
    get("Range: bytes=0-4");
    get("Range: bytes=5-9");
    assertEquals("56789", get("Range: bytes=5-9", "Cache-Control: no-cache").body());
    assertNull(
        Incomplete.find(
            proxy.storage(), "http://test/a", Fields.of(), (_, _) -> List.of(), new Recipient()));
  }

  @Test
  void whoAsksForTheRestGetsAWholeHeadAndWhatIsForItAlone() throws Exception {
    thenPart(0, 4, FRESH, TAG, "Content-Type: text/plain");
    thenPart(5, 9, "Cache-Control: max-age=60, private=\"X\"", TAG, "X: me");
    get("Range: bytes=0-4");
    var first = get();
    assertEquals(TEXT, first.body());
    assertEquals("me", first.field("X"));
    assertEquals("text/plain", first.field("Content-Type"));
    var second = get();
    assertEquals("", second.field("X"));
    assertEquals("text/plain", second.field("Content-Type"));
    assertEquals(2, origin.count());
  }

  @Test
  void whoAsksForTheRestGetsItsCookie() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 9, TAG, "Cache-Control: no-cache", "Set-Cookie: a=b");
    get("Range: bytes=0-4");
    var first = get();
    assertEquals(TEXT, first.body());
    assertEquals("a=b", first.field("Set-Cookie"));
    origin.then(304, "", FRESH, TAG);
    assertEquals("", get().field("Set-Cookie"));
  }

  @Test
  void aMissingPartValidatesTheOthers() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 9, FRESH, TAG);
    get("Range: bytes=0-4");
    after(61);
    assertEquals(TEXT, get().body());
    assertEquals("evergreen; hit; ttl=60", get("Range: bytes=0-1").field("Cache-Status"));
    assertEquals(2, origin.count());
  }

  @ParameterizedTest
  @CsvSource({
    "'max-age=60, stale-if-error=90', 206",
    "'max-age=60, must-revalidate', 504",
    "max-age=60, 502"
  })
  void anOriginFailsThatShouldSayWhetherTheyAreRight(String control, int status) throws Exception {
    thenPart(0, 4, "Cache-Control: " + control, TAG);
    get("Range: bytes=0-4");
    after(61);
    origin.close();
    assertEquals(status, get("Range: bytes=1-2").status());
  }

  @Test
  void allWhoWaitGetStaleOnesIfTheOriginFails() throws Exception {
    var go = new CountDownLatch(1);
    thenPart(0, 4, "Cache-Control: max-age=60, stale-if-error=90", TAG);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.socket().close();
        });
    get("Range: bytes=0-4");
    origin.next();
    after(61);
    browser.ask("GET", "/a", "Range: bytes=1-2");
    origin.next();
    var other = browser();
    other.ask("GET", "/a", "Range: bytes=1-2");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    go.countDown();
    assertEquals("12", browser.receive().body());
    assertEquals("12", other.receive().body());
  }

  @ParameterizedTest
  @ValueSource(strings = {"uri", "tag", "prefix", "soft", "PURGE", "POST"})
  void whatIsPurgedIsPurgedInParts(String how) throws Exception {
    thenPart(0, 4, FRESH, TAG, "Surrogate-Key: t", "Cache-Groups: \"g\"");
    get("Range: bytes=0-4");
    if (how.equals("POST")) {
      origin.then(200, "done");
      browser.ask("POST", "/a", "Content-Length: 0");
      assertEquals(200, browser.receive().status());
    } else {
      purge(how, Proxy.segment("http://test/a"));
    }
    thenPart(0, 4, FRESH, "ETag: \"2\"", "X: new");
    int before = origin.count();
    assertEquals("new", get("Range: bytes=0-4").field("X"));
    assertEquals(before + 1, origin.count());
    boolean soft = how.equals("soft");
    assertEquals(soft, origin.requests().getLast().has("If-None-Match"));
  }

  private void purge(String how, MemorySegment key) throws IOException {
    switch (how) {
      case "uri" -> proxy.purge(Purge.uri(key));
      case "tag" -> proxy.purge(Purge.tag(Tags.tag("t")));
      case "prefix" -> proxy.purge(Purge.prefix(key.asSlice(0, key.byteSize() - 1)));
      case "soft" -> proxy.purge(Purge.uri(key).softly());
      default -> {
        browser.ask("PURGE", "/a");
        assertEquals(200, browser.receive().status());
      }
    }
  }

  @Test
  void whatIsPurgedWhileItIsFetchedIsGone() throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(part(0, 4, FRESH, TAG));
        });
    thenPart(0, 4, FRESH, TAG, "X: new");
    browser.ask("GET", "/a", "Range: bytes=0-4");
    origin.next();
    proxy.purge(Purge.uri(Proxy.segment("http://test/a")));
    go.countDown();
    assertEquals("01234", browser.receive().body());
    assertEquals("new", get("Range: bytes=0-4").field("X"));
  }

  @Test
  void whatIsPurgedWhileSomebodyWaitsIsNotPartOfWhatIsStored() throws Exception {
    var go = new CountDownLatch(1);
    thenPart(0, 4, FRESH, TAG, "X: old");
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(part(5, 9, "Cache-Control: private", TAG));
        });
    origin.then(200, TEXT, "Cache-Control: private", TAG);
    thenPart(5, 9, FRESH, TAG);
    origin.then(200, TEXT, FRESH, TAG);
    get("Range: bytes=0-4");
    origin.next();
    browser.ask("GET", "/a");
    origin.next();
    var other = browser();
    other.ask("GET", "/a");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    proxy.purge(Purge.uri(Proxy.segment("http://test/a")));
    go.countDown();
    assertEquals(TEXT, browser.receive().body());
    assertEquals(TEXT, other.receive().body());
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("", get("Range: bytes=5-9").field("X"));
  }

  /**
   * It is another stored response by then, but of the same one: neither lost nor without a head.
   */
  @ParameterizedTest
  @ValueSource(strings = {"5-9", "0-9"})
  void whatIsFoundRightWhileTheRestComesIsJoinedAllTheSame(String range) throws Exception {
    var go = new CountDownLatch(1);
    thenPart(0, 4, "Cache-Control: no-cache", TAG, "Content-Type: text/plain");
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(part(5, 9, "Cache-Control: no-cache", TAG));
        });
    origin.then(304, "", "Cache-Control: no-cache", TAG);
    origin.then(304, "", "Cache-Control: no-cache", TAG);
    get("Range: bytes=0-4");
    origin.next();
    browser.ask("GET", "/a", "Range: bytes=" + range);
    origin.next();
    assertEquals("01234", browser().get("/a", "Range: bytes=0-4").body());
    go.countDown();
    var first = browser.receive();
    assertEquals(TEXT.substring(Integer.parseInt(range.substring(0, 1))), first.body());
    assertEquals("text/plain", first.field("Content-Type"));
    await(() -> proxy.fetches().underWay() == 0);
    var whole = get();
    assertEquals(TEXT, whole.body());
    assertEquals("text/plain", whole.field("Content-Type"));
    assertEquals(4, origin.count());
  }

  @Test
  void manyThatWantTheSamePartAreOneRequest() throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(part(2, 4, FRESH, TAG));
        });
    browser.ask("GET", "/a", "Range: bytes=2-4");
    origin.next();
    var other = browser();
    other.ask("GET", "/a", "Range: bytes=2-4");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    go.countDown();
    assertEquals("234", browser.receive().body());
    assertEquals("234", other.receive().body());
    assertEquals(1, origin.count());
  }

  /** Else who wants many and leaves would have all of them fetched. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void manyPartsAtATimeArePassedOn(boolean rests) throws Exception {
    if (rests) {
      thenPart(0, 0, FRESH, TAG);
      get("Range: bytes=0-0");
      origin.next();
    }
    var go = new CountDownLatch(1);
    origin.then(
        (request, wire) -> {
          int first = Integer.parseInt(request.field("Range").substring(6, 7));
          var end = request.field("Range").substring(8);
          int last = end.isEmpty() ? 9 : Integer.parseInt(end);
          go.await();
          wire.send(part(first, last, FRESH, TAG));
        });
    var all = new ArrayList<Browser>();
    for (int i = 0; i < Fetches.MOST; i++) {
      var each = browser();
      each.ask("GET", "/a", "Range: bytes=%d-%d".formatted(1 + i / 8, 2 + i % 8));
      origin.next();
      all.add(each);
    }
    browser.ask("GET", "/a", "Range: bytes=3-4");
    origin.next();
    go.countDown();
    for (var each : all) {
      assertTrue(each.receive().field("Cache-Status").contains("stored"));
    }
    var why = rests ? "partial" : "uri-miss";
    assertEquals(
        "evergreen; fwd=" + why + "; fwd-status=206", browser.receive().field("Cache-Status"));
  }

  /** All are answered while it still comes. */
  @Test
  void manyThatWantTheRestAreOneRequest() throws Exception {
    var go = new CountDownLatch(1);
    var more = new CountDownLatch(1);
    thenPart(0, 4, FRESH, TAG);
    origin.then(
        (_, wire) -> {
          go.await();
          var part = part(5, 9, FRESH, TAG);
          wire.send(part.substring(0, part.length() - 2));
          more.await();
          wire.send(part.substring(part.length() - 2));
        });
    get("Range: bytes=0-4");
    origin.next();
    browser.ask("GET", "/a");
    origin.next();
    var other = browser();
    other.ask("GET", "/a");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    go.countDown();
    for (var each : List.of(browser, other)) {
      for (var line = each.line(); !line.isEmpty(); line = each.line()) {
        assertFalse(line.startsWith("Content-Range"));
      }
      assertEquals("01234567", each.read(8));
    }
    more.countDown();
    assertEquals("89", browser.read(2));
    assertEquals("89", other.read(2));
    assertEquals(2, origin.count());
  }

  @Test
  void whoWantsAPartOfTheWholeThatComesWaitsForIt() throws Exception {
    var go = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(ScriptedOrigin.response(200, TEXT, FRESH, TAG));
        });
    browser.ask("GET", "/a");
    origin.next();
    var other = browser();
    other.ask("GET", "/a", "Range: bytes=2-4");
    await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
    go.countDown();
    assertEquals(TEXT, browser.receive().body());
    assertEquals("234", other.receive().body());
    assertEquals(1, origin.count());
  }

  @Test
  void aPartThatIsCutOffIsNotStored() throws Exception {
    origin.then(
        (_, wire) -> {
          var part = part(0, 4, FRESH, TAG);
          wire.send(part.substring(0, part.length() - 1));
          wire.socket().close();
        });
    thenPart(0, 4, FRESH, TAG);
    try (var unlucky = new Browser(proxy.addresses().getFirst())) {
      unlucky.ask("GET", "/a", "Range: bytes=0-4");
      assertThrows(IOException.class, unlucky::receive);
    }
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("01234", get("Range: bytes=0-4").body());
    assertEquals(2, origin.count());
  }

  /** It stands before the rest until it has taken the part that is stored. */
  @Test
  void aSlowClientGetsTheRestThatCannotBeStored() throws Exception {
    restart(
        StorageOptions.memory(64 << 20).memoryObject(16 << 20).patience(Duration.ofMillis(100)));
    var text = "0123456789abcdef".repeat(3 << 20);
    origin.then((request, wire) -> wire.send(partOf(text, request)));
    get("Range: bytes=0-15999999");
    browser.ask("GET", "/a");
    await(() -> origin.count() == 2 && proxy.fetches().underWay() == 0);
    var whole = browser.receive();
    assertEquals(200, whole.status());
    assertEquals(text, whole.body());
  }

  /** What it has asked for of a text. */
  private static String partOf(String text, ScriptedOrigin.Received request) {
    var range = request.field("Range").substring(6).split("-", -1);
    int first = Integer.parseInt(range[0]);
    int last = range[1].isEmpty() ? text.length() - 1 : Integer.parseInt(range[1]);
    var told = "Content-Range: bytes %d-%d/%d".formatted(first, last, text.length());
    return ScriptedOrigin.response(206, text.substring(first, last + 1), FRESH, TAG, told);
  }

  /** Else an origin that fails would have to do with each of them. */
  @Test
  void allWhoFollowARestThatEndsEarlyEndWithIt() throws Exception {
    var text = "0123456789abcdef".repeat(20 << 10);
    var go = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    origin.then((request, wire) -> wire.send(partOf(text, request)));
    origin.then(
        (request, wire) -> {
          go.await();
          var part = partOf(text, request);
          wire.send(part.substring(0, part.length() - 100_000));
          end.await();
          wire.socket().close();
        });
    origin.then((request, wire) -> wire.send(partOf(text, request)));
    get("Range: bytes=0-99999");
    var clients = new ArrayList<Browser>();
    for (int i = 0; i < 3; i++) {
      var client = browser();
      client.ask("GET", "/a");
      clients.add(client);
      int waiting = i;
      await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == waiting);
    }
    go.countDown();
    for (var client : clients) {
      assertEquals("HTTP/1.1 200 OK", client.line()); // It follows.
    }
    end.countDown();
    for (var client : clients) {
      assertThrows(IOException.class, () -> client.read(text.length()));
    }
    assertEquals(2, origin.count());
  }

  /** Else each of them would ask an origin that has something else now. */
  @Test
  void allWhoWaitForARestInVainAreOneRequestAgain() throws Exception {
    var go = new CountDownLatch(1);
    var more = new CountDownLatch(1);
    thenPart(2, 4, FRESH, TAG);
    origin.then(
        (_, wire) -> {
          go.await();
          wire.send(part(5, 9, FRESH, "ETag: \"2\""));
        });
    origin.then(
        (_, wire) -> {
          var part = part(4, 9, FRESH, "ETag: \"2\"");
          wire.send(part.substring(0, part.length() - 1));
          more.await();
          wire.send(part.substring(part.length() - 1));
        });
    origin.then(
        (_, wire) -> {
          more.await();
          wire.send(part(3, 9, FRESH, "ETag: \"2\""));
        });
    get("Range: bytes=2-4");
    origin.next();
    browser.ask("GET", "/a", "Range: bytes=4-9");
    assertEquals("bytes=5-", origin.next().field("Range"));
    var others = waiting("Range: bytes=3-9");
    go.countDown();
    await(() -> collapsed() == 2 * others.size() - 1 || origin.count() > 4);
    more.countDown();
    assertEquals("456789", browser.receive().body());
    for (var each : others) {
      assertEquals("3456789", each.receive().body());
    }
    assertEquals(4, origin.count());
  }

  /** Some who wait for what another has asked for. */
  private List<Browser> waiting(String... fields) throws IOException {
    var all = new ArrayList<Browser>();
    for (int i = 0; i < 3; i++) {
      var each = browser();
      each.ask("GET", "/a", fields);
      all.add(each);
    }
    await(() -> collapsed() == all.size());
    return all;
  }

  private long collapsed() {
    return proxy.statistics().get(Statistics.Count.COLLAPSED);
  }

  @Test
  void variantsAreKeptApartInParts() throws Exception {
    thenPart(0, 4, FRESH, TAG, "Vary: X");
    thenPart(0, 4, FRESH, "ETag: \"2\"", "Vary: X", "Y: other");
    get("Range: bytes=0-4", "X: a");
    assertEquals("other", get("Range: bytes=0-4", "X: b").field("Y"));
    assertEquals("", get("Range: bytes=0-4", "X: a").field("Y"));
    assertEquals(2, origin.count());
  }

  @Test
  void partsThatVaryByOthersNowAreForgotten() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    origin.then(304, "", FRESH, TAG, "Vary: X");
    thenPart(0, 4, FRESH, "ETag: \"2\"", "Vary: X");
    get("Range: bytes=0-4", "X: a");
    after(61);
    assertEquals("01234", get("Range: bytes=0-4", "X: a").body(), "it is for who has asked");
    assertEquals("\"2\"", get("Range: bytes=0-4", "X: b").field("ETag"));
    assertFalse(origin.requests().getLast().has("If-None-Match"));
    assertTrue(status("Range: bytes=0-4", "X: b").contains("hit"));
    assertEquals(3, origin.count());
  }

  private String status(String... fields) throws IOException {
    return get(fields).field("Cache-Status");
  }

  @Test
  void aHeadThatTellsOfAnotherMakesThemStale() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    origin.then(
        (_, wire) -> wire.send("HTTP/1.1 200 X\r\nContent-Length: 10\r\nETag: \"2\"\r\n\r\n"));
    thenPart(0, 4, FRESH, "ETag: \"2\"", "X: new");
    get("Range: bytes=0-4");
    browser.head("/a");
    assertEquals("new", get("Range: bytes=0-4").field("X"));
  }

  @Test
  void onlyWhatIsCachedIsUsed() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    get("Range: bytes=0-4");
    assertEquals(206, get("Range: bytes=0-4", "Cache-Control: only-if-cached").status());
    assertEquals(504, get("Range: bytes=0-5", "Cache-Control: only-if-cached").status());
    assertEquals(504, get("Cache-Control: only-if-cached").status());
  }

  @Test
  void partsAreThereAfterARestart() throws Exception {
    var disk = StorageOptions.memory(16 << 20).onDisk(folder, 64 << 20);
    restart(disk);
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 9, FRESH, TAG);
    get("Range: bytes=0-4");
    get("Range: bytes=5-9");
    restart(disk);
    assertEquals(TEXT, get().body());
    assertEquals(2, origin.count());
  }

  /** Else each place of a film to which somebody goes would begin a request for all of it. */
  @Test
  void whoseAnswersAreForItAloneAsksForEachPartOnce() throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(
                request.has("Range")
                    ? ScriptedOrigin.response(
                        206, "end", "Content-Range: bytes 3145725-3145727/3145728")
                    : ScriptedOrigin.response(200, "x".repeat(3 << 20), "Accept-Ranges: bytes")));
    assertEquals("end", get("Range: bytes=-3", "Authorization: me").body());
    assertEquals("end", get("Range: bytes=3145725-", "Authorization: me").body());
    assertEquals(2, origin.count());
  }

  @Test
  void whoseRestIsForItAloneGetsThePartThatItWants() throws Exception {
    thenPart(0, 4, FRESH, TAG);
    thenPart(5, 6, FRESH, TAG);
    thenPart(3, 6, FRESH, TAG);
    get("Range: bytes=0-4");
    var own = get("Range: bytes=3-6", "Authorization: me");
    assertEquals("bytes=3-6", origin.requests().getLast().field("Range"));
    assertEquals(206, own.status());
    assertEquals("3456", own.body());
    assertEquals("01234", get("Range: bytes=0-4").body());
    assertEquals(3, origin.count());
  }

  @Test
  void whatIsForOneAloneTellsNothingOfAnOriginsParts() throws Exception {
    origin.then(200, TEXT, "Cache-Control: private");
    thenPart(1, 1, FRESH);
    assertEquals(200, get("Range: bytes=2-2", "Authorization: me").status());
    assertEquals("1", get("Range: bytes=1-1").body());
    assertEquals("bytes=1-1", origin.requests().getLast().field("Range"));
  }

  @Test
  void anOriginWithoutPartsIsAskedForTheWholeByAll() throws Exception {
    origin.then(200, TEXT, FRESH, "Vary: X");
    assertEquals("1", get("Range: bytes=1-1", "X: a").body());
    assertTrue(origin.next().has("Range"));
    assertEquals("2", get("Range: bytes=2-2", "X: b").body());
    assertFalse(origin.next().has("Range"));
  }
}

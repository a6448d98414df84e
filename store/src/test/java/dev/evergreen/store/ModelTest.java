package dev.evergreen.store;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Random requests are answered as a plain map with the same rules answers them. */
class ModelTest {
  private static final int STEPS = 4000;
  private static final List<Mode> MODES = List.of(Mode.values());
  private static final BigInteger TWO_TO_64 = BigInteger.TWO.pow(64);

  @TestFactory
  java.util.stream.Stream<DynamicTest> aStoreThatEvictsNothingAnswersAsAMapDoes() {
    Long only = Long.getLong("evergreen.store.seed");
    var seeds =
        only != null
            ? LongStream.of(only)
            : IntStream.range(0, Integer.getInteger("evergreen.store.seeds", 60)).asLongStream();
    return seeds.mapToObj(
        seed ->
            DynamicTest.dynamicTest("-Devergreen.store.seed=" + seed, () -> new Run(seed).run()));
  }

  private static final class Entry {
    String value = "";
    int flags;
    int expiry;
    int lastAccess;
    long cas;
    boolean fetched;
    boolean stale;
    boolean won;
  }

  /** What was found, and is not held. */
  private record Unheld(String key, Item item, String value) {}

  private static final class Run {
    private final Random random;
    private final TestStore test = new TestStore(new StoreOptions(8 << 20, 1 << 20, true));
    private final Map<String, Entry> model = new HashMap<>();
    private final Set<Long> seenCas = new HashSet<>();
    private final List<Unheld> unheld = new ArrayList<>();
    private int now = 1000;
    private int flushAt = Integer.MAX_VALUE;
    private long chosenCas = 1L << 40;

    Run(long seed) {
      random = new Random(seed);
    }

    void run() {
      try (test) {
        for (int i = 0; i < STEPS; i++) {
          step();
          checkSize();
        }
        for (String key : Set.copyOf(model.keySet())) {
          var entry = live(key);
          assertEquals(entry == null ? null : entry.value, test.get(key));
        }
        test.store.maintain();
        test.clock.set(now += 100);
        test.store.maintain();
        Set.copyOf(model.keySet()).forEach(this::live);
        assertEquals(model.keySet(), test.walk().keySet());
        test.walk().keySet().forEach(test::get);
        test.store.stats();
        removeExpired();
        test.checkAccounts();
        assertEquals(0, test.store.stats().evictions());
      }
    }

    private void removeExpired() {
      for (int i = 0; i < 300; i++) {
        test.get("key" + i);
      }
    }

    private void step() {
      String key = "key" + random.nextInt(random.nextBoolean() ? 10 : 300);
      switch (random.nextInt(20)) {
        case 0, 1, 2, 3 -> get(key);
        case 4, 5, 6, 7 -> store(key);
        case 8, 9 -> fetch(key);
        case 10, 11, 12 -> arithmetic(key);
        case 13 -> remove(key);
        case 14 -> invalidate(key);
        case 15 -> empty(key);
        case 16 -> reserve(key);
        case 17 -> advance();
        case 18 -> {
          peek(key);
          copyUnheld();
        }
        default -> maintain();
      }
    }

    private void advance() {
      if (random.nextInt(3) == 0) {
        test.clock.set(now += random.nextInt(5));
      }
      if (random.nextInt(60) == 0) {
        int at = now + random.nextInt(6) - 2;
        test.store.flush(at);
        if (at <= now) {
          model.clear();
          flushAt = Integer.MAX_VALUE;
        } else {
          flushAt = at;
        }
      }
    }

    private void maintain() {
      if (random.nextInt(10) == 0) {
        test.store.maintain();
      }
    }

    private @Nullable Entry live(String key) {
      if (now >= flushAt) {
        flushAt = Integer.MAX_VALUE;
        model.clear();
      }
      var entry = model.get(key);
      if (entry != null && entry.expiry != 0 && entry.expiry <= now) {
        model.remove(key);
        return null;
      }
      return entry;
    }

    private void get(String key) {
      var entry = live(key);
      assertEquals(entry == null ? null : entry.value, test.get(key), key);
      if (entry != null) {
        checkPicture(entry);
        entry.fetched = true;
        entry.lastAccess = now;
      }
    }

    private void peek(String key) {
      var entry = live(key);
      var outcome = test.store.peek(test.key(key), test.item);
      assertEquals(entry == null ? Outcome.NOT_FOUND : Outcome.FOUND, outcome);
      if (entry != null) {
        checkPicture(entry);
        assertEquals(entry.fetched, test.item.isFetched());
        var item = new Item();
        var unused = test.store.peek(test.key(key), item);
        item.release();
        unheld.add(new Unheld(key, item, entry.value));
      }
      test.item.release();
    }

    /** Copies what was found some time ago, if it is still there, linked or not. */
    private void copyUnheld() {
      if (unheld.isEmpty()) {
        return;
      }
      var one = unheld.get(random.nextInt(unheld.size()));
      var copy = new byte[one.value.length()];
      var target = MemorySegment.ofArray(copy);
      boolean copied = test.store.copyPart(test.key(one.key), one.item, 0, target, copy.length);
      var entry = live(one.key);
      if (entry != null && entry.cas == one.item.cas() && entry.value.equals(one.value)) {
        assertTrue(copied);
        entry.fetched = true;
        entry.lastAccess = now;
      }
      if (copied) {
        assertEquals(one.value, new String(copy, ISO_8859_1));
      } else {
        unheld.remove(one);
      }
    }

    private void checkPicture(Entry entry) {
      assertEquals(entry.value.length(), test.item.valueLength());
      assertEquals(entry.flags, test.item.flags());
      assertEquals(entry.cas, test.item.cas());
      assertEquals(entry.lastAccess, test.item.lastAccess());
      assertEquals(entry.stale, test.item.isStale());
      assertEquals(entry.fetched, test.item.isFetched());
    }

    private void fetch(String key) {
      var fetch = new Fetch();
      if (random.nextBoolean()) {
        fetch.touch(expiry());
      }
      if (random.nextBoolean()) {
        fetch.vivify(expiry());
      }
      if (random.nextInt(8) == 0) {
        fetch.vivifiedCas(chosenCas++);
      }
      if (random.nextInt(4) == 0) {
        fetch.winless();
      }
      if (random.nextBoolean()) {
        fetch.recacheBefore(now + random.nextInt(30));
      }
      if (random.nextBoolean()) {
        fetch.recacheUntouched();
      }
      var entry = live(key);
      boolean made = entry == null && fetch.vivifies;
      if (made) {
        entry = new Entry();
        entry.expiry = fetch.vivifiedExpiry;
        entry.lastAccess = now;
        model.put(key, entry);
      }
      String value = test.fetch(key, fetch);
      if (entry == null) {
        assertEquals(null, value);
        return;
      }
      assertEquals(entry.value, value);
      int former = entry.expiry;
      if (made) {
        newCas(entry, fetch.setsCas ? new Change().setCas(fetch.vivifiedCas) : new Change());
      } else if (fetch.touches) {
        entry.expiry = fetch.expiry;
      }
      checkPicture(entry);
      int judged = fetch.recachesUntouched ? former : entry.expiry;
      boolean due = fetch.recaches && judged != 0 && judged < fetch.recacheBefore;
      boolean wins = !entry.won && (made || (!fetch.isGet && (entry.stale || due)));
      assertEquals(entry.won, test.item.isWonBefore());
      assertEquals(wins, test.item.isWon());
      assertEquals(entry.expiry, test.item.expiry());
      assertEquals(made, test.item.isNew());
      entry.won |= wins;
      entry.fetched = true;
      entry.lastAccess = now;
    }

    private Change change() {
      var change = new Change();
      if (random.nextInt(4) == 0) {
        change.ifCas(random.nextInt(4) == 0 ? 0 : someCas());
      }
      if (random.nextInt(8) == 0) {
        change.setCas(chosenCas++);
      }
      return change;
    }

    private long someCas() {
      var entry = live("key" + random.nextInt(10));
      return entry == null ? 7 : entry.cas;
    }

    private Change aimedChange(String key) {
      var change = change();
      var entry = live(key);
      if (change.compares && entry != null && random.nextBoolean()) {
        change.ifCas(entry.cas + (random.nextInt(3) == 0 ? -1 : 0));
      }
      return change;
    }

    private Change storing(String key) {
      var change = aimedChange(key).flags(random.nextInt()).expiry(expiry());
      change.mode(MODES.get(random.nextInt(MODES.size())));
      if (random.nextInt(3) == 0) {
        change.invalidate();
      }
      if (random.nextInt(3) == 0) {
        change.vivify(expiry());
      }
      return change;
    }

    private int expiry() {
      return switch (random.nextInt(6)) {
        case 0 -> now + random.nextInt(3) - 1;
        case 1, 2 -> now + 5 + random.nextInt(30);
        default -> 0;
      };
    }

    private String value() {
      int length =
          switch (random.nextInt(12)) {
            case 0 -> random.nextInt(20_000);
            case 1 -> 900 + random.nextInt(200);
            case 2 -> 0;
            default -> random.nextInt(40);
          };
      if (random.nextInt(4) == 0) {
        return " ".repeat(random.nextInt(2))
            + List.of("", "", "+", "-").get(random.nextInt(4))
            + Long.toUnsignedString(random.nextLong() >>> random.nextInt(64))
            + List.of("", "", " x", "\0x", " ".repeat(5000)).get(random.nextInt(5));
      }
      var text = new StringBuilder(length);
      for (int i = 0; i < length; i++) {
        text.append((char) random.nextInt(256));
      }
      return text.toString();
    }

    private void store(String key) {
      String value = value();
      var change = storing(key);
      var expected = apply(key, value, change);
      assertEquals(expected, test.store(key, value, change));
      stored(key, expected, change);
    }

    private void reserve(String key) {
      String value = value();
      var change = storing(key);
      var reservation = test.store.reserve(test.key(key), value.length());
      assertNotNull(reservation);
      var bytes = MemorySegment.ofArray(value.getBytes(ISO_8859_1));
      if (random.nextInt(4) == 0) {
        reservation.close();
        return;
      }
      while (reservation.missing() > 0) {
        var next = reservation.next();
        int piece = random.nextInt((int) next.byteSize()) + 1;
        MemorySegment.copy(bytes, value.length() - reservation.missing(), next, 0, piece);
        reservation.filled(piece);
      }
      var expected = apply(key, value, change);
      assertEquals(expected, reservation.commit(change, test.item));
      stored(key, expected, change);
    }

    private void stored(String key, Outcome outcome, Change change) {
      var entry = live(key);
      if (outcome == Outcome.STORED) {
        // Something whose expiry has passed already is stored as well.
        newCas(entry == null ? new Entry() : entry, change);
      }
    }

    private void newCas(Entry entry, Change change) {
      entry.cas = test.item.cas();
      if (change.setsCas) {
        assertEquals(change.newCas, entry.cas);
      } else {
        assertTrue(seenCas.add(entry.cas), "a CAS number of its own");
      }
    }

    /** What the rules say, and the model changed by it. */
    private Outcome apply(String key, String value, Change change) {
      var old = live(key);
      boolean joins = change.mode == Mode.APPEND || change.mode == Mode.PREPEND;
      if (change.mode == Mode.ADD && old != null) {
        old.lastAccess = now;
        return Outcome.NOT_STORED;
      }
      if (old == null && change.compares && !joins && change.mode != Mode.ADD) {
        return Outcome.NOT_FOUND;
      }
      if (old == null && (change.mode == Mode.REPLACE || (joins && !change.vivifies))) {
        return Outcome.NOT_STORED;
      }
      boolean late = false;
      if (old != null && change.compares && old.cas != change.expectedCas) {
        late =
            !joins
                && change.invalidates
                && change.expectedCas != 0
                && Long.compareUnsigned(change.expectedCas, old.cas) < 0;
        if (!late) {
          return Outcome.EXISTS;
        }
      }
      var entry = new Entry();
      entry.lastAccess = now;
      entry.cas = old == null ? 0 : old.cas;
      entry.value = value;
      entry.flags = change.flags;
      entry.expiry = change.expiry;
      if (joins) {
        String former = old == null ? "" : old.value;
        entry.value = change.mode == Mode.APPEND ? former + value : value + former;
        entry.flags = old == null ? change.flags : old.flags;
        entry.expiry = old == null ? change.vivifiedExpiry : old.expiry;
      } else if (late && old != null) {
        entry.expiry = old.expiry;
        entry.stale = true;
        entry.won = old.won;
      }
      model.put(key, entry);
      return Outcome.STORED;
    }

    private void arithmetic(String key) {
      var change = aimedChange(key);
      long delta = random.nextBoolean() ? random.nextInt(1000) : random.nextLong();
      if (random.nextBoolean()) {
        change.increment(delta);
      } else {
        change.decrement(delta);
      }
      if (random.nextInt(3) == 0) {
        change.vivify(expiry()).initial(random.nextLong() >>> random.nextInt(64));
      }
      if (random.nextInt(4) == 0) {
        change.expiry(expiry());
      }
      var old = live(key);
      var outcome = test.add(key, change);
      if (old == null) {
        assertEquals(change.vivifies ? Outcome.STORED : Outcome.NOT_FOUND, outcome);
        if (change.vivifies) {
          var entry = new Entry();
          entry.value = Long.toUnsignedString(change.initial);
          entry.expiry = change.vivifiedExpiry;
          entry.lastAccess = now;
          model.put(key, entry);
          newCas(entry, change);
          assertTrue(test.item.isNew());
        }
        return;
      }
      boolean empty = old.value.isEmpty();
      if (!empty && change.compares && change.expectedCas != old.cas) {
        assertEquals(Outcome.EXISTS, outcome);
        return;
      }
      var number = empty ? null : number(old.value);
      if (number == null) {
        assertEquals(Outcome.NOT_NUMERIC, outcome);
        return;
      }
      assertEquals(Outcome.STORED, outcome);
      assertFalse(test.item.isNew());
      var operand = new BigInteger(Long.toUnsignedString(delta));
      var result =
          change.decrements
              ? number.subtract(operand).max(BigInteger.ZERO)
              : number.add(operand).mod(TWO_TO_64);
      assertEquals(result.toString(), Long.toUnsignedString(test.item.number()));
      if (result.toString().length() > old.value.length()) {
        old.stale = false;
        old.won = false;
        old.fetched = false;
      }
      old.value = result + " ".repeat(Math.max(0, old.value.length() - result.toString().length()));
      old.lastAccess = now;
      if (change.touches) {
        old.expiry = change.expiry;
      }
      newCas(old, change);
    }

    /** What C's strtoull reads, but for negative numbers that stay so in 64 bits. */
    private static @Nullable BigInteger number(String value) {
      var matcher =
          java.util.regex.Pattern.compile(
                  "[ \\t-\\r]*([+-]?[0-9]+)([\\x00 \\t-\\r].*)?", java.util.regex.Pattern.DOTALL)
              .matcher(value);
      if (!matcher.matches()) {
        return null;
      }
      var given = new BigInteger(matcher.group(1));
      var number = given.mod(TWO_TO_64);
      boolean negative = given.signum() < 0 && number.testBit(63);
      return given.abs().compareTo(TWO_TO_64) >= 0 || negative ? null : number;
    }

    private void remove(String key) {
      var change = aimedChange(key);
      var expected = removal(key, change);
      assertEquals(expected, test.store.delete(test.key(key), change, test.item));
      if (expected == Outcome.STORED) {
        model.remove(key);
      }
    }

    private Outcome removal(String key, Change change) {
      var old = live(key);
      return old == null
          ? Outcome.NOT_FOUND
          : change.compares && change.expectedCas != old.cas ? Outcome.EXISTS : Outcome.STORED;
    }

    private void invalidate(String key) {
      var change = aimedChange(key).invalidate();
      if (random.nextBoolean()) {
        change.expiry(expiry());
      }
      var expected = removal(key, change);
      assertEquals(expected, test.store.delete(test.key(key), change, test.item));
      var entry = live(key);
      if (expected == Outcome.STORED && entry != null) {
        entry.stale = true;
        entry.won = false;
        if (change.touches) {
          entry.expiry = change.expiry;
        }
        newCas(entry, change);
      }
    }

    private void empty(String key) {
      var change = aimedChange(key).empty();
      if (random.nextBoolean()) {
        change.expiry(expiry());
      }
      if (random.nextBoolean()) {
        change.invalidate();
      }
      var expected = removal(key, change);
      assertEquals(expected, test.store.delete(test.key(key), change, test.item));
      var old = live(key);
      if (expected == Outcome.STORED && old != null) {
        var entry = new Entry();
        entry.cas = old.cas;
        entry.expiry = change.touches ? change.expiry : 0;
        entry.lastAccess = now;
        entry.stale = change.invalidates;
        model.put(key, entry);
        if (change.setsCas || change.invalidates) {
          newCas(entry, change);
        } else {
          assertEquals(old.cas, test.item.cas());
        }
      }
    }

    private void checkSize() {
      assertTrue(test.store.stats().memory() <= test.store.stats().limit());
    }
  }
}

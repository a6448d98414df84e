package dev.evergreen.codec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Type;
import java.math.BigInteger;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Bytes and objects that mean harm, or are broken. */
final class HostileTest {
  private final Codec codec = Codec.create(Limits.DEFAULT);

  record Nest(@Nullable Nest inner) {}

  record Nests(Set<Nests> inner) {}

  record Point(int x, int y) {}

  private static Nest nest(int levels) {
    Nest nest = new Nest(null);
    for (int i = 1; i < levels; i++) {
      nest = new Nest(nest);
    }
    return nest;
  }

  @Test
  void theDeepestValueAllowedPassesAndADeeperOneIsRefusedEverywhere() {
    ValueType type = codec.of(Nest.class);
    Nest deepest = nest(200);
    byte[] bytes = type.encode(deepest);
    assertEquals(deepest, type.decode(bytes));
    assertEquals(deepest, type.freeze(deepest));
    assertTrue(type.same(deepest, nest(200)));
    Nest deeper = nest(201);
    assertThrows(ValueLimitException.class, () -> type.encode(deeper));
    assertThrows(ValueLimitException.class, () -> type.freeze(deeper));
    assertThrows(ValueLimitException.class, () -> type.same(deeper, nest(201)));
    byte[] far = Codec.create(new Limits(1000, 1000)).of(Nest.class).encode(deeper);
    assertThrows(ValueLimitException.class, () -> type.decode(far));
    record Other(int other) {}
    assertThrows(ValueLimitException.class, () -> codec.of(Other.class).decode(far));
  }

  @Test
  void setsInSetsToTheDeepestLevelTakeNoTime() {
    ValueType type = codec.of(Nests.class);
    Nests deepest = new Nests(Set.of());
    for (int i = 1; i < 100; i++) {
      deepest = new Nests(Set.of(deepest));
    }
    byte[] bytes = type.encode(deepest);
    assertEquals(deepest, type.decode(bytes));
    assertTrue(type.same(type.freeze(deepest), type.decode(bytes)));
  }

  @Test
  void aListThatContainsItselfIsRefused() {
    var list = new ArrayList<Object>();
    list.add(list);
    Type type = String.class;
    for (int i = 0; i < 250; i++) {
      type = new Generic(List.class, type);
    }
    ValueType lists = codec.of(type);
    assertThrows(ValueLimitException.class, () -> lists.freeze(list));
    assertThrows(ValueLimitException.class, () -> lists.encode(list));
    var other = new ArrayList<Object>();
    other.add(other);
    assertThrows(ValueLimitException.class, () -> lists.same(list, other));
    assertThrows(ValueLimitException.class, () -> codec.dynamic().freeze(list));
    assertThrows(ValueLimitException.class, () -> codec.dynamic().same(list, other));
  }

  private void refused(Type type, int... bytes) {
    byte[] all = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      all[i] = (byte) bytes[i];
    }
    assertThrows(
        MalformedValueException.class,
        () -> codec.of(type).decode(all),
        () -> type + " " + Arrays.toString(all));
  }

  @Test
  void everyEncodingButTheOneIsRefused() {
    refused(String.class);
    refused(int.class, Tag.INT);
    refused(int.class, Tag.INT, 0x80, 0x00);
    refused(int.class, Tag.INT, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02);
    refused(int.class, Tag.INT, 1, 1);
    refused(int.class, Tag.NULL);
    refused(int.class, Tag.INT, 0x80, 0x80, 0x80, 0x80, 0x10);
    refused(byte.class, Tag.INT, 0x80, 0x02);
    refused(boolean.class, Tag.INT, 1);
    refused(float.class, Tag.FLOAT, 0x7F, 0xC0, 0, 1);
    refused(double.class, Tag.DOUBLE, 0x7F, 0xF8, 0, 0, 0, 0, 0, 1);
    refused(String.class, Tag.STRING, 3, 0, 'a');
    refused(String.class, Tag.STRING, 4, 'a');
    refused(boolean[].class, Tag.PACK, 1, 2);
    refused(BigInteger.class, Tag.PACK, 0);
    refused(BigInteger.class, Tag.PACK, 2, 0, 1);
    refused(BigInteger.class, Tag.PACK, 2, 0xFF, 0x80);
    refused(LocalTime.class, Tag.PACK, 2, 1, 1);
    refused(LocalTime.class, Tag.PACK, 1, 0x80);
    refused(Generator.Dot.class, Tag.ENUM, 1);
    refused(Generator.Dot.class, Tag.ENUM, 0, 6, 'B', 'I', 'G');
    refused(new Generic(Set.class, Integer.class), Tag.SET, 2, Tag.INT, 4, Tag.INT, 2);
    refused(new Generic(Set.class, Integer.class), Tag.SET, 2, Tag.INT, 2, Tag.INT, 2);
    refused(new Generic(Optional.class, String.class), Tag.SOME, Tag.NULL);
    refused(
        new Generic(List.class, Generator.Dot.class),
        Tag.LIST,
        2,
        Tag.ENUM,
        0,
        10,
        'S',
        'M',
        'A',
        'L',
        'L',
        Tag.ENUM,
        0,
        10,
        'S',
        'M',
        'A',
        'L',
        'L');
    refused(Point.class, Tag.RECORD, 0, 2, 2, 'x', 2, 'x', Tag.INT, 0, Tag.INT, 0);
    refused(new Generic(List.class, Point.class), Tag.LIST, 2, Tag.RECORD, 0, 0, Tag.RECORD, 0, 0);
    refused(Point.class, Tag.RECORD, 0, 1, 2, 'z', 99);
    refused(Point.class, Tag.RECORD, 0, 1, 2, 'z', Tag.VARIANT, 0, 2, 'v', Tag.VARIANT, 1);
    refused(void.class, Tag.TRUE);
    refused(new Generic(SequencedSet.class, Boolean.class), Tag.LIST, 2, Tag.TRUE, Tag.TRUE);
    refused(new Generic(SequencedMap.class, Boolean.class, Boolean.class), Tag.LIST, 1, Tag.TRUE);
  }

  @Test
  void announcedLengthsAreNotBelieved() {
    byte[] bytes = new byte[1_000_000];
    Arrays.fill(bytes, (byte) 99);
    Type type = String.class;
    for (int i = 0; i < 190; i++) {
      type = new Generic(List.class, type);
    }
    for (int i = 0; i < 190; i++) {
      byte[] list = {Tag.LIST, (byte) 0x80, (byte) 0x80, (byte) 0x20};
      System.arraycopy(list, 0, bytes, 4 * i, 4);
    }
    ValueType nested = codec.of(type);
    long allocated =
        allocatedBy(() -> assertThrows(MalformedValueException.class, () -> nested.decode(bytes)));
    assertTrue(allocated < 2_500_000, () -> allocated + " bytes");
    for (Class<?> array : List.of(long[].class, double[].class, byte[].class, String[].class)) {
      for (int tag : new int[] {Tag.INTS, Tag.DOUBLES, Tag.PACK, Tag.LIST}) {
        refused(array, tag, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 1, 2, 3);
      }
    }
  }

  private static long allocatedBy(Runnable action) {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    action.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  @Test
  void moreBytesThanTheLimitAreRefusedBeforeTheyAreRead() {
    Codec small = Codec.create(new Limits(100, 10));
    ValueType type = small.of(String.class);
    assertThrows(ValueLimitException.class, () -> type.decode(new byte[101]));
    assertThrows(ValueLimitException.class, () -> type.encode("x".repeat(200)));
    assertEquals(100, type.encode("x".repeat(97)).length);
    assertThrows(ValueLimitException.class, () -> type.encode("x".repeat(98)));
  }

  /** Strings of two letters that have the same hash code, put together. */
  private static String colliding(int number, int pairs) {
    var text = new StringBuilder();
    for (int bit = 0; bit < pairs; bit++) {
      text.append((number >> bit & 1) == 0 ? "Aa" : "BB");
    }
    return text.toString();
  }

  record Id(String id) {}

  @Test
  void keysThatAllHaveOneHashCodeAreReadInTime() {
    var ids = new HashSet<String>();
    for (int i = 0; i < 1 << 16; i++) {
      ids.add(colliding(i, 16));
    }
    List<Id> list = ids.stream().map(Id::new).toList();
    Type setType = new Generic(Set.class, Id.class);
    byte[] bytes = setOf(list);
    // The thread's own time: others may keep the machine busy.
    var threads = ManagementFactory.getThreadMXBean();
    long start = threads.getCurrentThreadCpuTime();
    var back = (Set<?>) Objects.requireNonNull(codec.of(setType).decode(bytes));
    assertEquals(1 << 16, back.size());
    assertTrue(back.contains(new Id(colliding(12345, 16))));
    assertTrue(threads.getCurrentThreadCpuTime() - start < 10_000_000_000L, "took too long");
  }

  /** What a set of these would be encoded as, without putting them into a slow one first. */
  private byte[] setOf(List<Id> ids) {
    var out = new Writer(Limits.DEFAULT);
    Shape id = new Compiler(Limits.DEFAULT).compile(Id.class);
    out.tag(Tag.SET);
    out.varint(ids.size());
    out.sorted(id, ids.toArray(), id, null);
    return out.toBytes();
  }

  /**
   * Mutated and random bytes for random types: nothing but the two exceptions, little memory, and
   * what is accepted is accepted again.
   */
  @Test
  void anyBytesAreReadOrRefused() {
    double seconds = Double.parseDouble(System.getProperty("evergreen.fuzz.seconds", "8"));
    long end = System.nanoTime() + (long) (seconds * 1e9);
    long seed = Long.getLong("evergreen.fuzz.seed", 42);
    var random = new Random(seed);
    var generator = new Generator(codec);
    var outcomes = new int[2];
    while (System.nanoTime() < end) {
      Generator.Kind kind = generator.kind(random, 3);
      ValueType type = codec.of(kind.type());
      ValueType reader = random.nextInt(4) == 0 ? codec.of(Point.class) : type;
      for (int i = 0; i < 20; i++) {
        byte[] valid = type.encode(kind.maker().make(random, random));
        for (int j = 0; j < 10; j++) {
          outcomes[accepted(reader, mutated(valid, random)) ? 1 : 0]++;
        }
      }
    }
    assertTrue(outcomes[0] > 100 && outcomes[1] > 100, () -> Arrays.toString(outcomes));
  }

  private static byte[] mutated(byte[] valid, Random random) {
    if (random.nextInt(10) == 0) {
      byte[] bytes = new byte[random.nextInt(60)];
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] = (byte) random.nextInt(random.nextInt(4) == 0 ? 256 : 20);
      }
      return bytes;
    }
    var out = new ByteArrayOutputStream();
    out.writeBytes(valid);
    byte[] bytes = out.toByteArray();
    for (int changes = 1 + random.nextInt(3); changes > 0 && bytes.length > 0; changes--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(5)) {
        case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> bytes[at] = (byte) random.nextInt(20);
        case 2 -> bytes[at] = (byte) random.nextInt();
        case 3 -> bytes = Arrays.copyOf(bytes, at);
        default -> {
          int length = random.nextInt(bytes.length - at);
          byte[] longer = Arrays.copyOf(bytes, bytes.length + length);
          System.arraycopy(bytes, at, longer, at + length, bytes.length - at);
          bytes = longer;
        }
      }
    }
    return bytes;
  }

  private static boolean accepted(ValueType type, byte[] bytes) {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    try {
      Object value = type.decode(bytes);
      byte[] again = type.encode(value);
      assertTrue(type.same(value, type.decode(again)));
      return true;
    } catch (MalformedValueException | ValueLimitException e) {
      return false;
    } catch (RuntimeException | Error e) {
      throw new AssertionError(type.name() + " of " + Arrays.toString(bytes), e);
    } finally {
      long allocated = threads.getCurrentThreadAllocatedBytes() - before;
      assertTrue(allocated < 500_000 + 500L * bytes.length, () -> allocated + " for " + type);
    }
  }

  @Test
  void aMapThatGrowsWhileItIsWrittenStillMakesWholeBytes() {
    var map = new ConcurrentHashMap<String, Integer>(Map.of("a", 1));
    ValueType type = codec.of(new Generic(Map.class, String.class, Integer.class));
    Thread growing =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 0; i < 20_000 && !Thread.currentThread().isInterrupted(); i++) {
                    map.put("k" + i, i);
                  }
                });
    for (int i = 0; i < 50; i++) {
      type.decode(type.encode(map));
    }
    growing.interrupt();
  }
}

package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.evergreen.core.Freshness;
import dev.evergreen.live.Present;
import dev.evergreen.live.Rendering;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A delta makes exactly the next result out of the last one, for whatever results. */
@Isolated("others are sent whole results while it makes a delta wait")
final class DeltaTest {

  private static final int SEEDS = 20_000;
  private static final Path CLIENT = Path.of("..", "client-js").toAbsolutePath().normalize();
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  @TempDir private Path folder;

  private static JsonNode any(Random random, int depth) {
    return switch (random.nextInt(depth > 3 ? 5 : 8)) {
      case 0 -> JSON.nullNode();
      case 1 -> JSON.booleanNode(random.nextBoolean());
      case 2 -> JSON.numberNode(random.nextInt(3));
      case 3 -> JSON.textNode(List.of("", "a", "é\"\\\n", "💡").get(random.nextInt(4)));
      case 4 -> JSON.numberNode(random.nextInt(8) / 4.0);
      case 5, 6 -> list(random, depth);
      default -> object(random, depth);
    };
  }

  private static ArrayNode list(Random random, int depth) {
    var list = JSON.arrayNode();
    for (int i = random.nextInt(7); i > 0; i--) {
      list.add(any(random, depth + 1));
    }
    return list;
  }

  private static ObjectNode object(Random random, int depth) {
    var object = JSON.objectNode();
    for (int i = random.nextInt(4); i > 0; i--) {
      object.set(
          List.of("a", "b", "c", "__proto__", "2").get(random.nextInt(5)), any(random, depth + 1));
    }
    return object;
  }

  /** The same with some changes, as a write makes them. */
  private static JsonNode changed(JsonNode value, Random random, int depth) {
    if (random.nextInt(8) == 0) {
      return any(random, depth);
    } else if (value.isArray()) {
      var items = new ArrayList<JsonNode>();
      value.forEach(
          item -> items.add(random.nextInt(4) == 0 ? changed(item, random, depth + 1) : item));
      switch (random.nextInt(6)) {
        case 0 -> items.addFirst(any(random, depth + 1));
        case 1 -> items.add(any(random, depth + 1));
        case 2 -> Collections.rotate(items, 1);
        case 3 -> items.addAll(items.subList(0, items.size() / 2).stream().toList());
        case 4 -> items.removeIf(item -> random.nextInt(3) == 0);
        default -> Collections.shuffle(items, random);
      }
      return JSON.arrayNode().addAll(items);
    } else if (value.isObject()) {
      var object = JSON.objectNode();
      for (var field : value.properties()) {
        if (random.nextInt(6) > 0) {
          object.set(field.getKey(), changed(field.getValue(), random, depth + 1));
        }
      }
      return random.nextBoolean() ? object : object.setAll(object(random, depth));
    }
    return value;
  }

  private static JsonNode delta(JsonNode from, JsonNode to) throws IOException {
    return MAPPER.readTree(Objects.requireNonNull(Delta.between(from, to, Integer.MAX_VALUE)));
  }

  /** What the protocol's page says of deltas, in Java. */
  private static JsonNode applied(JsonNode delta, JsonNode value) {
    if (delta.has("value")) {
      return delta.get("value");
    } else if (delta.has("items")) {
      var items = JSON.arrayNode();
      for (var part : delta.get("items")) {
        if (part.isArray()) {
          for (int i = 0; i < part.get(1).intValue(); i++) {
            items.add(value.get(part.get(0).intValue() + i));
          }
        } else {
          part.get("add").forEach(items::add);
        }
      }
      return items;
    }
    var object = (ObjectNode) value.deepCopy();
    delta.get("gone").forEach(name -> object.remove(name.textValue()));
    for (var field : delta.get("fields").properties()) {
      var before = value.path(field.getKey());
      object.set(field.getKey(), applied(field.getValue(), before));
    }
    return object;
  }

  @Test
  void aDeltaMakesTheNextOutOfTheLast() throws Exception {
    for (int seed = 0; seed < SEEDS; seed++) {
      var random = new Random(seed);
      var from = any(random, 0);
      var to = changed(from, random, 0);
      // As text: the order of fields counts.
      assertEquals(to.toString(), applied(delta(from, to), from).toString(), "seed " + seed);
    }
  }

  /** A page shows a map in the order in which it comes. */
  @Test
  void anotherOrderOfFieldsIsAnotherResultAtAnyDepth() throws Exception {
    var one = MAPPER.readTree("[{\"of\":{\"a\":1,\"b\":2}},7]");
    var two = MAPPER.readTree("[{\"of\":{\"b\":2,\"a\":1}},7]");
    assertEquals(two.toString(), applied(delta(one, two), one).toString());
    var from = JSON.objectNode().set("list", one);
    var to = JSON.objectNode().set("list", two);
    assertEquals(to.toString(), applied(delta(from, to), from).toString());
    var first = from.get("list").get(0);
    var second = to.get("list").get(0);
    assertEquals(second.toString(), applied(delta(first, second), first).toString());
  }

  /** What strangers have written may be in a list, and how Java hashes strings is known. */
  @Test
  void itemsThatHashAlikeOnPurposeCostLittleMoreThanOthers() throws Exception {
    var harmless = JSON.arrayNode();
    var alike = JSON.arrayNode();
    for (int i = 0; i < 1 << 14; i++) {
      var bits = "%14s".formatted(Integer.toBinaryString(i)).replace(' ', '0');
      harmless.add(bits + bits);
      alike.add(bits.replace("0", "Aa").replace("1", "BB"));
    }
    assertEquals(1, Stream.of(0, 1, 99).map(i -> alike.get(i).hashCode()).distinct().count());
    costOf(harmless);
    long usual = costOf(harmless);
    assertTrue(costOf(alike) < 30 * usual + 100_000_000, "usual are " + usual + " ns");
  }

  /** The processor time of a delta to the same without the first, in nanoseconds. */
  private static long costOf(ArrayNode items) throws IOException {
    var fewer = items.deepCopy();
    fewer.remove(0);
    var threads = ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadCpuTime();
    assertEquals("{\"items\":[[1," + fewer.size() + "]]}", delta(items, fewer).toString());
    return threads.getCurrentThreadCpuTime() - before;
  }

  @Test
  void theClientMakesTheSame() throws Exception {
    var vitest = CLIENT.resolve(Path.of("node_modules", "vitest", "vitest.mjs"));
    assumeTrue(Files.exists(vitest), "client-js is not installed");
    var cases = JSON.arrayNode();
    for (int seed = 0; seed < 3_000; seed++) {
      var random = new Random(seed);
      var from = any(random, 0);
      var to = changed(from, random, 0);
      cases.add(
          JSON.objectNode()
              .<ObjectNode>set("from", from)
              .<ObjectNode>set("to", to)
              .set("delta", delta(from, to)));
    }
    var file = folder.resolve("deltas.json");
    MAPPER.writeValue(file.toFile(), cases);
    var builder =
        new ProcessBuilder("node", vitest.toString(), "run", "delta")
            .directory(CLIENT.toFile())
            .redirectErrorStream(true);
    builder.environment().put("EVERGREEN_DELTAS", file.toString());
    var process = builder.start();
    try {
      var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), output);
      assertEquals(0, process.exitValue(), output);
      assertTrue(output.contains("3 passed"), output);
    } finally {
      process.destroyForcibly();
    }
  }

  private static final Rendering RENDERING =
      new Hub.AsMessages(new Failures(e -> Optional.empty()));

  private static Present present(Object value) {
    return Present.value(
        Json.text(value).getBytes(StandardCharsets.UTF_8), RENDERING, Freshness.CURRENT);
  }

  @Test
  void aNewItemInALongListIsAllThatIsSent() {
    var items = new ArrayList<String>();
    for (int i = 0; i < 50; i++) {
      items.add("A post of some length, number " + i);
    }
    var last = present(items);
    items.addFirst("The newest");
    items.removeLast();
    var next = present(items);
    var delta = Delta.between(last, next);
    assertNotNull(delta);
    assertEquals(last.tag(), delta.from());
    assertEquals(next.tag(), delta.to().tag());
    assertEquals(
        "{\"items\":[{\"add\":[\"The newest\"]},[0,49]]}",
        StandardCharsets.UTF_8.decode(delta.to().json()).toString());
  }

  /** Such as numbers beyond what Jackson reads: they can be written, and so can be sent whole. */
  @Test
  void whatCannotBeComparedHasNoDelta() {
    var items = new ArrayList<Object>();
    for (int i = 0; i < 50; i++) {
      items.add("A post of some length, number " + i);
    }
    for (var number :
        List.of(
            new BigInteger("9".repeat(2_000)),
            new BigDecimal("1e100000"),
            Map.of("k".repeat(60_000), 1))) {
      var last = present(items);
      var next = present(Stream.concat(Stream.of(number), items.stream()).toList());
      assertNull(Delta.between(last, next));
    }
  }

  /** Seen: seven deltas of four megabytes took more memory than the server had. */
  @Test
  void whatIsLongHasNoDeltaOnEitherSide() {
    var texts = new ArrayList<String>();
    for (int i = 0; i < 300; i++) {
      texts.add("x".repeat(1_000) + i);
    }
    var long1 = present(List.copyOf(texts));
    texts.add("one more");
    assertNull(Delta.between(long1, present(List.copyOf(texts))));
    assertNull(Delta.between(long1, present(texts.subList(0, 200))));
  }

  @Test
  void whatIsShortOrWhollyNewOrAFailureHasNoDelta() {
    var text = "x".repeat(1_000);
    assertNull(Delta.between(present(List.of("a")), present(List.of("a", "b"))));
    assertNull(Delta.between(present(List.of(text + "a")), present(List.of(text + "b"))));
    var failure =
        Present.failure(new WebException(500, "failed", text), RENDERING, Freshness.CURRENT);
    assertNull(Delta.between(failure, present(List.of(text))));
    assertNull(Delta.between(present(List.of(text)), failure));
  }

  /** Seen: others' results came seconds late, as those of one client with large lists were made. */
  @Test
  void whileAnotherIsMadeForLongResultsAreSentWhole() throws Exception {
    var many = IntStream.range(0, 1_000).boxed().toList();
    var more = new ArrayList<>(many);
    more.add(1_000);
    var from = present(many);
    var to = present(more);
    assertNotNull(Delta.between(from, to));
    Delta.MAKING.lock();
    try {
      assertNull(
          CompletableFuture.supplyAsync(() -> Delta.between(from, to) == null ? null : 1).get());
    } finally {
      Delta.MAKING.unlock();
    }
    assertNotNull(Delta.between(from, to));
  }
}

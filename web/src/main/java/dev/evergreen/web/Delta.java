package dev.evergreen.web;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.evergreen.live.Present;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * How one result of a view becomes the next, where that is much shorter than the next itself. What
 * it looks like stands in {@code docs/web-protocol.md}. Items of a list are known by their content:
 * those that were in the former list are named by their place there, in runs, and only others are
 * written out. Content is compared as JSON text, so that the order of fields counts at any depth.
 *
 * @param from the tag of the result that it is applied to
 * @param to carries the tag of the result that it leads to, and the delta instead of its JSON
 */
record Delta(String from, Present to) {

  /** Shorter results are sent as they are. */
  private static final int WORTH_IT_FROM_BYTES = 256;

  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .enable(JsonGenerator.Feature.WRITE_BIGDECIMAL_AS_PLAIN)
          .build();

  private static final long LONGEST_WAIT_MILLIS = 100;

  /** Held by who makes one. */
  static final ReentrantLock MAKING = new ReentrantLock();

  /** Longer results, too: the trees take many times as much memory, which nothing counts. */
  private static final int WORTH_IT_TO_BYTES = 256 << 10;

  /**
   * From one to the other; null if either is long, if it would not be half as long as the other, or
   * if Jackson does not read what it has written (very long numbers and names) or does not write it
   * in this form.
   */
  static @Nullable Delta between(Present from, Present to) {
    if (from.error() != null || to.error() != null) {
      return null;
    }
    var json = to.json();
    if (json.remaining() < WORTH_IT_FROM_BYTES
        || Math.max(from.length(), to.length()) > WORTH_IT_TO_BYTES) {
      return null;
    }
    return makeOne(from, to, json.remaining() / 2);
  }

  /**
   * One at a time, so that a client that has many results change needs no more memory. It is not
   * waited for long: others' results would wait for all of that client's, and can be sent whole.
   */
  private static @Nullable Delta makeOne(Present from, Present to, int most) {
    try {
      if (!MAKING.tryLock(LONGEST_WAIT_MILLIS, TimeUnit.MILLISECONDS)) {
        return null;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
    try {
      var delta = between(tree(from), tree(to), most);
      return delta == null ? null : new Delta(from.tag(), to.carrying(delta));
    } catch (IOException e) {
      return null;
    } finally {
      MAKING.unlock();
    }
  }

  private static JsonNode tree(Present present) throws IOException {
    var json = present.json();
    return MAPPER.readTree(json.array(), json.arrayOffset(), json.remaining());
  }

  /** The delta as JSON; null if it is longer than {@code most} bytes. */
  static byte @Nullable [] between(JsonNode from, JsonNode to, int most) throws IOException {
    var out = new ByteArrayOutputStream();
    try (var json = MAPPER.createGenerator(out)) {
      write(from, to, json);
    }
    return out.size() <= most ? out.toByteArray() : null;
  }

  private static void write(JsonNode from, JsonNode to, JsonGenerator json) throws IOException {
    json.writeStartObject();
    if (from.isArray() && to.isArray()) {
      json.writeFieldName("items");
      writeItems(from, to, json);
    } else if (from.isObject() && to.isObject() && keepsOrder(from, to)) {
      writeFields(from, to, json);
    } else {
      json.writeFieldName("value");
      json.writeTree(to);
    }
    json.writeEndObject();
  }

  /** Whether what is left of the one, with what is new at its end, is in the order of the other. */
  private static boolean keepsOrder(JsonNode from, JsonNode to) {
    var expected = new ArrayList<String>();
    from.fieldNames().forEachRemaining(name -> addIf(to.has(name), name, expected));
    to.fieldNames().forEachRemaining(name -> addIf(!from.has(name), name, expected));
    var actual = new ArrayList<String>();
    to.fieldNames().forEachRemaining(actual::add);
    return actual.equals(expected);
  }

  private static void addIf(boolean condition, String name, List<String> names) {
    if (condition) {
      names.add(name);
    }
  }

  private static void writeFields(JsonNode from, JsonNode to, JsonGenerator json)
      throws IOException {
    json.writeObjectFieldStart("fields");
    for (var field : to.properties()) {
      var before = from.get(field.getKey());
      if (before == null || !field.getValue().toString().equals(before.toString())) {
        json.writeFieldName(field.getKey());
        write(before == null ? MAPPER.missingNode() : before, field.getValue(), json);
      }
    }
    json.writeEndObject();
    json.writeArrayFieldStart("gone");
    for (var field : from.properties()) {
      if (!to.has(field.getKey())) {
        json.writeString(field.getKey());
      }
    }
    json.writeEndArray();
  }

  private static void writeItems(JsonNode from, JsonNode to, JsonGenerator json)
      throws IOException {
    var had = texts(from);
    var wanted = texts(to);
    var places = places(had);
    json.writeStartArray();
    int i = 0;
    while (i < wanted.size()) {
      var place = places.get(wanted.get(i));
      int end = i + 1;
      if (place == null) {
        while (end < wanted.size() && !places.containsKey(wanted.get(end))) {
          end++;
        }
        writeNew(to, i, end, json);
      } else {
        int offset = place - i;
        while (end < wanted.size()
            && offset + end < had.size()
            && wanted.get(end).equals(had.get(offset + end))) {
          end++;
        }
        json.writeArray(new int[] {place, end - i}, 0, 2);
      }
      i = end;
    }
    json.writeEndArray();
  }

  /** Strings compare: many that hash alike on purpose still cost only a tree. */
  private static Map<String, Integer> places(List<String> items) {
    var places = new HashMap<String, Integer>();
    for (int i = 0; i < items.size(); i++) {
      places.putIfAbsent(items.get(i), i);
    }
    return places;
  }

  private static List<String> texts(JsonNode items) {
    var texts = new ArrayList<String>(items.size());
    items.forEach(item -> texts.add(item.toString()));
    return texts;
  }

  private static void writeNew(JsonNode items, int start, int end, JsonGenerator json)
      throws IOException {
    json.writeStartObject();
    json.writeArrayFieldStart("add");
    for (int i = start; i < end; i++) {
      json.writeTree(items.get(i));
    }
    json.writeEndArray();
    json.writeEndObject();
  }
}

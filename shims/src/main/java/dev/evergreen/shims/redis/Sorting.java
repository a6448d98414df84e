package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** SORT, which may look at any key. */
final class Sorting {
  private static final Map<String, Integer> ARGUMENTS =
      Map.of("BY", 1, "GET", 1, "LIMIT", 2, "STORE", 1);

  private static final Pattern PLAIN = Pattern.compile("[0-9a-z]*");
  private static final Pattern PLAIN_CAPITALS = Pattern.compile("[0-9A-Z]*");

  static final String FAMILY = "sorting";

  private Sorting() {}

  static void define(Commands commands) {
    commands.family(FAMILY).on("SORT SORT_RO", Sorting::touch, Sorting::sort);
  }

  /** Where an option is, or -1. */
  private static int option(Call call, String option) {
    return call.place(option, 2, ARGUMENTS);
  }

  /** BY and GET may lead to any key of the database. */
  private static void touch(Call call) {
    boolean farther = option(call, "BY") > 0 || option(call, "GET") > 0;
    var from = farther ? call.database() : call.key(1);
    call.reads(from);
    int at = option(call, "STORE");
    if (at > 0) {
      call.touch(Touch.replaces(call.key(at + 1)).from(from));
    }
  }

  private static Object sort(Call call) {
    int store = option(call, "STORE");
    var sorted = sorted(call, store > 0);
    var result = new ArrayList<Object>();
    for (var element : limited(call, sorted)) {
      boolean got = false;
      for (int i = 2; i < call.words(); i++) {
        if (call.option(i).equals("GET")) {
          result.add(found(call, call.word(++i), element));
          got = true;
        } else {
          i += ARGUMENTS.getOrDefault(call.option(i), 0);
        }
      }
      if (!got) {
        result.add(element);
      }
    }
    if (store < 0) {
      if (goesByLanguage(call, sorted) && !result.equals(call.elements())) {
        throw new UnsupportedOperationException("the order of texts is that of a language");
      }
      return result;
    }
    var texts = result.stream().map(one -> one == Resp.NIL ? Bytes.EMPTY : one).toList();
    call.set(call.key(store + 1), Kind.LIST, texts);
    return (long) texts.size();
  }

  /**
   * Whether the order of these may be that of the language which the server's environment names: it
   * sorts texts so that it does not store. Of letters of one case and digits it is that of bytes.
   */
  private static boolean goesByLanguage(Call call, List<Bytes> sorted) {
    return option(call, "ALPHA") > 0
        && !isUnsorted(call)
        && sorted.size() > 1
        && !areAll(PLAIN, sorted)
        && !areAll(PLAIN_CAPITALS, sorted);
  }

  private static boolean areAll(Pattern pattern, List<Bytes> texts) {
    return texts.stream().allMatch(text -> pattern.matcher(text.latin1()).matches());
  }

  private static List<Bytes> sorted(Call call, boolean stored) {
    var key = call.key(1);
    var entry = call.entry(key);
    int by = option(call, "BY");
    if (by > 0) {
      var _ = call.plain(by + 1);
    }
    boolean unsorted = isUnsorted(call);
    boolean alpha = option(call, "ALPHA") > 0;
    var pattern = by > 0 && !unsorted ? call.word(by + 1) : null;
    List<Bytes> elements =
        switch (entry == null ? Kind.LIST : entry.kind()) {
          case LIST -> call.list(key);
          case SET -> new ArrayList<>(call.set(key));
          case SORTED -> SortedSets.members(call, key, false);
          default -> throw new Refusal("WRONGTYPE");
        };
    if (unsorted) {
      if (entry == null || entry.kind() != Kind.SET) {
        return descends(call) ? elements.reversed() : elements;
      }
      if (!stored && elements.size() > 1) {
        throw new UnsupportedOperationException("the order of a set is not known");
      }
      alpha = true;
    }
    var order = alpha ? byText(call, pattern) : byNumber(call, pattern, elements);
    elements.sort(descends(call) ? order.reversed() : order);
    if (haveNoOrder(elements, order)) {
      throw new UnsupportedOperationException("the order of what is equal is the store's business");
    }
    return elements;
  }

  /** Whether what is no pattern has once been named to sort by, whatever comes behind it. */
  private static boolean isUnsorted(Call call) {
    for (int i = 2; i + 1 < call.words(); i += 1 + ARGUMENTS.getOrDefault(call.option(i), 0)) {
      if (call.option(i).equals("BY") && !call.word(i + 1).text().contains("*")) {
        return true;
      }
    }
    return false;
  }

  /** The last word for an order counts. */
  private static boolean descends(Call call) {
    boolean descends = false;
    for (int i = 2; i < call.words(); i += 1 + ARGUMENTS.getOrDefault(call.option(i), 0)) {
      var option = call.option(i);
      descends = option.equals("DESC") || (descends && !option.equals("ASC"));
    }
    return descends;
  }

  /** Whether some that differ are equal in this order, by which they are sorted. */
  private static boolean haveNoOrder(List<Bytes> elements, Comparator<Bytes> order) {
    for (int i = 1; i < elements.size(); i++) {
      var one = elements.get(i - 1);
      if (order.compare(one, elements.get(i)) == 0 && !one.equals(elements.get(i))) {
        return true;
      }
    }
    return false;
  }

  /**
   * Whether the order may be one in which equal elements stand as the store keeps them: that
   * depends on all that its sets ever held.
   */
  static boolean mayLeaveOrder(Call call) {
    int by = option(call, "BY");
    return by > 0 && by + 1 < call.words() && !isUnsorted(call) && option(call, "ALPHA") > 0;
  }

  /**
   * Whether elements may stand as the store keeps them: it sorts those of a set only to keep them.
   */
  static boolean mayBeAsKept(Call call) {
    return isUnsorted(call) && option(call, "STORE") < 0 && !(call.reply() instanceof Resp.Failure);
  }

  private static Comparator<Bytes> byText(Call call, @Nullable Bytes pattern) {
    if (pattern == null) {
      return Comparator.comparing((Bytes element) -> Call.plain(element));
    }
    return Comparator.comparing(
        element ->
            found(call, pattern, element) instanceof Bytes text ? Call.plain(text) : Bytes.EMPTY);
  }

  /** Looks at all numbers at once, as also a single one is refused if it is none. */
  private static Comparator<Bytes> byNumber(
      Call call, @Nullable Bytes pattern, List<Bytes> elements) {
    var numbers = new HashMap<Bytes, Double>();
    for (var element : elements) {
      var value = pattern == null ? element : found(call, pattern, element);
      // What is empty is nothing.
      boolean there = value instanceof Bytes text && text.length() > 0;
      numbers.put(element, there ? SortedSets.number((Bytes) value) : 0.0);
    }
    return Comparator.<Bytes, Double>comparing(numbers::get)
        .thenComparing(Comparator.naturalOrder());
  }

  /** What a pattern leads to for an element: a string, or a field of a hash; or nothing. */
  private static Object found(Call call, Bytes pattern, Bytes element) {
    if (pattern.text().equals("#")) {
      return element;
    }
    var text = Call.plain(pattern).latin1();
    int star = text.indexOf('*');
    if (star < 0) {
      return Resp.NIL;
    }
    int arrow = text.indexOf("->", star);
    boolean field = arrow > 0 && arrow + 2 < text.length();
    var name =
        text.substring(0, star)
            + Call.plain(element).latin1()
            + text.substring(star + 1, field ? arrow : text.length());
    var key = call.database().child(latin1(name));
    return field ? ofHash(call, key, latin1(text.substring(arrow + 2))) : ofString(call, key);
  }

  private static Bytes latin1(String text) {
    return Bytes.of(text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1));
  }

  private static Object ofHash(Call call, Cell key, Bytes field) {
    var entry = call.entry(key);
    return entry == null || entry.kind() != Kind.HASH
        ? Resp.NIL
        : Call.orNil(call.hash(key).get(field));
  }

  private static Object ofString(Call call, Cell key) {
    var entry = call.entry(key);
    return entry == null || entry.kind() != Kind.STRING ? Resp.NIL : entry.content();
  }

  private static List<Bytes> limited(Call call, List<Bytes> all) {
    int at = option(call, "LIMIT");
    if (at < 0) {
      return all;
    }
    long count = call.number(at + 2);
    var rest = all.stream().skip(Math.max(0, call.number(at + 1)));
    return (count < 0 ? rest : rest.limit(count)).toList();
  }
}

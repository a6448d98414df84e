package dev.evergreen.settings;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What one file or the environment says. A file has lines {@code key = value}, as {@link
 * Properties} reads them, in UTF-8. In the environment the key {@code max-views} of a prefix such
 * as {@code EVERGREEN_WEB_} is the variable {@code EVERGREEN_WEB_MAX_VIEWS}. Blanks around a value
 * do not belong to it.
 *
 * <p>A value has the same form wherever it stands: a time is {@code 250ms} or {@code 10s} ({@link
 * #duration}), a size is {@code 64KiB} or {@code 4GiB} ({@link #size}), a switch {@code true} or
 * {@code false}, and a list has commas between. {@code docs/settings.md} has all keys.
 *
 * <p>Settings that are a record need no table of keys: its components are the keys ({@link
 * #changed}).
 *
 * <p>Whoever takes settings refuses those that it does not know, as they may be misspelt ones.
 * Whatever is refused is named as it was written, with where that was.
 */
public final class Settings {

  private static final Map<String, ChronoUnit> TIMES =
      Map.of(
          "us", ChronoUnit.MICROS,
          "ms", ChronoUnit.MILLIS,
          "s", ChronoUnit.SECONDS,
          "min", ChronoUnit.MINUTES,
          "h", ChronoUnit.HOURS,
          "d", ChronoUnit.DAYS);

  /** Each 1,024 times the one before. */
  private static final List<String> SIZES = List.of("B", "KiB", "MiB", "GiB", "TiB");

  /** A century: its nanoseconds are less than the largest long. */
  private static final int MOST_DAYS = 36_500;

  private static final Pattern QUANTITY = Pattern.compile("([0-9]{1,18})([A-Za-z]+)");

  private static final Pattern OF_SERVICE =
      Pattern.compile(
          "(.+-)?(service-(host|port(-.*)?)|port-[0-9]+-(tcp|udp|sctp)(-(proto|port|addr))?)");

  private static final Pattern SERVICE_PORT = Pattern.compile("(.+-)?port");
  private static final Pattern SERVICE_ADDRESS = Pattern.compile("(tcp|udp|sctp)://.*");

  private final SortedMap<String, String> values;
  private final String prefix;
  private final String where;

  private Settings(SortedMap<String, String> values, String prefix, String where) {
    this.values = values;
    this.prefix = prefix;
    this.where = where;
  }

  /** Those of a file; one that cannot be read is an {@link UncheckedIOException}. */
  public static Settings of(Path file) {
    var properties = new Properties();
    try (var text = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      properties.load(text);
    } catch (IOException e) {
      throw new UncheckedIOException("The configuration " + file + " cannot be read: " + e, e);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("The configuration " + file + ": " + e.getMessage(), e);
    }
    var values = new TreeMap<String, String>();
    properties
        .stringPropertyNames()
        .forEach(key -> values.put(key, properties.getProperty(key).strip()));
    return new Settings(values, "", "in " + file);
  }

  /**
   * Those of the variables whose names begin with a prefix, but for those by which Kubernetes tells
   * of a service whose name begins so.
   */
  public static Settings of(Map<String, String> environment, String prefix) {
    var values = new TreeMap<String, String>();
    environment.forEach(
        (variable, value) -> {
          if (variable.startsWith(prefix)) {
            var key =
                variable.substring(prefix.length()).toLowerCase(Locale.ROOT).replace('_', '-');
            if (!isOfService(key, value)) {
              values.put(key, value.strip());
            }
          }
        });
    return new Settings(values, prefix, "in the environment");
  }

  private static boolean isOfService(String key, String value) {
    return OF_SERVICE.matcher(key).matches()
        || (SERVICE_PORT.matcher(key).matches() && SERVICE_ADDRESS.matcher(value).matches());
  }

  /** The keys that were given, in the order of the alphabet. */
  public SortedSet<String> keys() {
    return Collections.unmodifiableSortedSet(new TreeSet<>(values.keySet()));
  }

  /** The value of a key, or null if it was not given. */
  public @Nullable String get(String key) {
    return values.get(key);
  }

  /** The value of a key that others need. */
  public String needed(String key) {
    var value = values.get(key);
    if (value == null) {
      throw refusal(key, "is missing, which those given need: " + keys(), null);
    }
    return value;
  }

  /**
   * Hands each value to the taker of its key, in the order of the alphabet. A key that has no taker
   * is refused, and so is a value that its taker refuses by an {@link IllegalArgumentException}.
   */
  public void apply(Map<String, Consumer<String>> takers) {
    knowOnly(takers.keySet());
    values.forEach(
        (key, value) -> {
          try {
            takers.getOrDefault(key, _ -> {}).accept(value);
          } catch (IllegalArgumentException e) {
            throw refusal(key, "is '" + value + "': " + e.getMessage(), e);
          }
        });
  }

  /** Refuses keys that are none of these. */
  public void knowOnly(Set<String> known) {
    for (var key : values.keySet()) {
      if (!known.contains(key)) {
        throw refusal(key, "is none of " + String.join(", ", new TreeSet<>(known)), null);
      }
    }
  }

  /**
   * The keys of a record's components: that of {@code maxViews} is {@code max-views}.
   *
   * @param before what each of them begins with
   */
  public static SortedSet<String> keysOf(Class<? extends Record> type, String before) {
    return Arrays.stream(type.getRecordComponents())
        .map(component -> key(component, before))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * Settings as they were, but for what stands here under one of their {@linkplain #keysOf keys}.
   * All are changed together, so that they are refused only if they make no sense together. Other
   * keys are left to others.
   *
   * @param from of a public record, whose components are numbers, sizes (those with {@code Bytes}
   *     in their names), durations, switches and texts
   * @throws IllegalArgumentException if a value cannot be read, or the record refuses what it is
   *     given; the message names the key
   */
  public <R extends Record> R changed(R from, String before) {
    @SuppressWarnings("unchecked") // what a record's class is
    var type = (Class<R>) from.getClass();
    var components = type.getRecordComponents();
    var given = new ArrayList<String>();
    var parts = new @Nullable Object[components.length];
    try {
      for (int i = 0; i < parts.length; i++) {
        var key = key(components[i], before);
        var value = values.get(key);
        parts[i] =
            value == null ? components[i].getAccessor().invoke(from) : read(components[i], key);
        if (value != null) {
          given.add(key);
        }
      }
      var types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
      return given.isEmpty() ? from : type.getConstructor(types).newInstance(parts);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof IllegalArgumentException refused) {
        throw refusal(
            given.getFirst(), alsoOf(given) + "makes no sense: " + refused.getMessage(), refused);
      }
      throw new IllegalStateException(type + " cannot be made", e);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(type + " has no settings for others", e);
    }
  }

  private String alsoOf(List<String> given) {
    return given.size() == 1
        ? ""
        : given.stream().skip(1).map(this::written).collect(Collectors.joining(", ", "with ", " "));
  }

  private static String key(RecordComponent component, String before) {
    return before + component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
  }

  private Object read(RecordComponent component, String key) {
    var type = component.getType();
    boolean isSize = component.getName().toLowerCase(Locale.ROOT).contains("bytes");
    var value = needed(key);
    try {
      if (type == Duration.class) {
        return duration(value);
      } else if (type == boolean.class) {
        return yes(value);
      } else if (type == int.class) {
        return isSize ? intSize(value) : number(value);
      } else if (type == long.class) {
        return isSize ? size(value) : (long) number(value);
      } else if (type == String.class) {
        return value;
      }
    } catch (IllegalArgumentException e) {
      throw refusal(key, "is '" + value + "': " + e.getMessage(), e);
    }
    throw new IllegalStateException("no text can be a " + type + ", which " + component + " is");
  }

  private static int intSize(String value) {
    long size = size(value);
    if (size > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("it must be less than 2GiB");
    }
    return (int) size;
  }

  /** Says what is wrong with a key, by its name as it was written and where that was. */
  public IllegalArgumentException refusal(String key, String what, @Nullable Exception cause) {
    return new IllegalArgumentException("%s %s %s".formatted(written(key), where, what), cause);
  }

  private String written(String key) {
    return prefix.isEmpty() ? key : prefix + key.toUpperCase(Locale.ROOT).replace('-', '_');
  }

  /**
   * Reads a time: a whole number with its unit, which is {@code us}, {@code ms}, {@code s}, {@code
   * min}, {@code h} or {@code d}; at most a century.
   */
  public static Duration duration(String value) {
    var quantity = QUANTITY.matcher(value);
    var unit = quantity.matches() ? TIMES.get(quantity.group(2)) : null;
    if (unit == null) {
      throw new IllegalArgumentException(
          "it must be a time with its unit, such as 250ms, 10s, 5min, 2h or 7d");
    }
    long number = Long.parseLong(quantity.group(1));
    if (number > Duration.ofDays(MOST_DAYS).dividedBy(unit.getDuration())) {
      throw new IllegalArgumentException("it must be at most " + MOST_DAYS + "d");
    }
    return Duration.of(number, unit);
  }

  /**
   * Reads bytes: a whole number with its unit, which is {@code B}, {@code KiB}, {@code MiB}, {@code
   * GiB} or {@code TiB}.
   */
  public static long size(String value) {
    var quantity = QUANTITY.matcher(value);
    int power = quantity.matches() ? SIZES.indexOf(quantity.group(2)) : -1;
    if (power < 0) {
      throw new IllegalArgumentException(
          "it must be a size with its unit, such as 512B, 64KiB, 16MiB or 4GiB");
    }
    long number = Long.parseLong(quantity.group(1));
    if (number > Long.MAX_VALUE >> (10 * power)) {
      throw new IllegalArgumentException("there is no room for that");
    }
    return number << (10 * power);
  }

  /** Reads a whole number. */
  public static int number(String value) {
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("it must be a whole number", e);
    }
  }

  /** Reads {@code true} or {@code false}. */
  public static boolean yes(String value) {
    return switch (value) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("it must be true or false");
    };
  }

  /** Reads what is separated by commas; blanks around them do not count. */
  public static List<String> list(String value) {
    return List.of(value.split("\\s*,\\s*", -1));
  }
}

package dev.evergreen.web;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.introspect.BeanPropertyDefinition;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.evergreen.json.ResultJson;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Duration;
import java.time.Period;
import java.time.Year;
import java.time.ZoneId;
import java.time.temporal.TemporalAccessor;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Views and commands as declarations for {@code @evergreen/client}: each record is an interface
 * with the fields that its JSON has. What is no value of a known form is {@code unknown}.
 *
 * <p>An optional that a page sends may be left out; one that it gets is there, maybe as null. So a
 * record that holds an optional and travels both ways has two interfaces.
 */
final class TypeScript {

  /** Which way a value travels, seen from the page. */
  private enum Way {
    SENT,
    GOT
  }

  private static final JsonMapper MAPPER = ResultJson.mapper(new JsonFactory()).build();

  /** The declarations by their names, and the name that each type has got. */
  private final Map<String, String> declared = new TreeMap<>();

  private final Map<String, String> names = new HashMap<>();
  private final StringBuilder views = new StringBuilder();
  private final StringBuilder commands = new StringBuilder();

  void view(LiveView<?> view) {
    views.append(
        entry(view.name(), "params", view.paramsType(), whole(view.resultType(), "unknown")));
  }

  /**
   * Tells of a command.
   *
   * @param result null if it is not known
   */
  void command(String name, Class<? extends Record> type, @Nullable Type result) {
    commands.append(entry(name, "command", type, whole(result, "unknown")));
  }

  /** Tells of a command that has no answer. */
  void command(String name, Class<? extends Record> type) {
    commands.append(entry(name, "command", type, "void"));
  }

  private String entry(String name, String what, Class<?> sent, String result) {
    return "    %s: { %s: %s; result: %s };\n"
        .formatted(quoted(name), what, inline(javaType(sent), Way.SENT), result);
  }

  /** All that was told, as the text of a module. */
  String text() {
    var text = new StringBuilder("// Made from the server's views and commands. Do not edit.\n");
    text.append("import type {} from \"@evergreen/client\";\n");
    declared.values().forEach(declaration -> text.append('\n').append(declaration));
    text.append("\ndeclare module \"@evergreen/client\" {\n  interface Views {\n").append(views);
    text.append("  }\n  interface Commands {\n").append(commands).append("  }\n}\n");
    return text.toString();
  }

  private String whole(@Nullable Type type, String otherwise) {
    return type == null ? otherwise : of(javaType(type), Way.GOT);
  }

  private static JavaType javaType(Type type) {
    return MAPPER.getTypeFactory().constructType(type);
  }

  private String of(JavaType type, Way way) {
    var raw = type.getRawClass();
    if (raw == boolean.class || raw == Boolean.class) {
      return "boolean";
    } else if (type.isTypeOrSubTypeOf(Number.class) || isNumber(raw) || raw == Year.class) {
      return "number";
    } else if (isText(raw)) {
      return "string";
    } else if (type.isEnumType()) {
      return named(type, way);
    } else if (type.isReferenceType()) {
      return orNull(of(type.getReferencedType(), way));
    } else if (type.isMapLikeType()) {
      return "{ [key: string]: " + of(type.getContentType(), way) + " }";
    } else if (type.isArrayType() || type.isTypeOrSubTypeOf(Collection.class)) {
      return arrayOf(of(type.getContentType(), way));
    } else if (raw.isRecord() || (raw.isSealed() && raw.isInterface())) {
      return named(type, way);
    }
    return raw == Void.class ? "null" : "unknown";
  }

  private static boolean isNumber(Class<?> type) {
    return type.isPrimitive() && type != char.class && type != void.class;
  }

  private static boolean isText(Class<?> type) {
    return CharSequence.class.isAssignableFrom(type)
        || type == char.class
        || type == Character.class
        || type == byte[].class
        || type == UUID.class
        || type == Duration.class
        || type == Period.class
        || ZoneId.class.isAssignableFrom(type)
        || (TemporalAccessor.class.isAssignableFrom(type) && !type.isEnum());
  }

  private static String orNull(String type) {
    return type.endsWith("| null") ? type : type + " | null";
  }

  private static String arrayOf(String type) {
    return type.contains("|") ? "(" + type + ")[]" : type + "[]";
  }

  /** The name by which the type is declared; it is declared now if it is not yet. */
  private String named(JavaType type, Way way) {
    var seen = way == Way.SENT && differs(type, new HashMap<>()) ? Way.SENT : Way.GOT;
    var identity = seen + " " + type.toCanonical();
    var known = names.get(identity);
    if (known != null) {
      return known;
    }
    var name = freeName(type, seen);
    names.put(identity, name);
    declared.put(name, ""); // it is taken, also while a type that names itself is declared
    declared.put(name, declaration(name, type, seen));
    return name;
  }

  private String freeName(JavaType type, Way way) {
    var simple = simpleName(type) + (way == Way.SENT ? "Sent" : "");
    var outer = type.getRawClass().getEnclosingClass();
    var name = simple;
    while (declared.containsKey(name)) {
      name = (outer == null ? "Other" : outer.getSimpleName()) + name;
      outer = outer == null ? null : outer.getEnclosingClass();
    }
    return name;
  }

  private static String simpleName(JavaType type) {
    var arguments =
        type.getBindings().getTypeParameters().stream()
            .map(TypeScript::simpleName)
            .collect(Collectors.joining());
    return type.getRawClass().getSimpleName().replace("[]", "s") + arguments;
  }

  private String declaration(String name, JavaType type, Way way) {
    var raw = type.getRawClass();
    if (raw.isRecord()) {
      return "export interface " + name + " {\n" + fields(type, way, "  ", ";\n") + "}\n";
    }
    return "export type " + name + " = " + alternatives(type, way) + ";\n";
  }

  private String alternatives(JavaType type, Way way) {
    var raw = type.getRawClass();
    if (type.isEnumType()) {
      return Arrays.stream(raw.getEnumConstants())
          .map(constant -> quotedText(MAPPER.convertValue(constant, String.class)))
          .collect(Collectors.joining(" | "));
    }
    if (raw.isAnnotationPresent(JsonTypeInfo.class)) {
      return "unknown"; // Jackson adds to what the records say
    }
    return Arrays.stream(raw.getPermittedSubclasses())
        .map(one -> of(MAPPER.getTypeFactory().constructSpecializedType(type, one), way))
        .collect(Collectors.joining(" | "));
  }

  private String inline(JavaType type, Way way) {
    var fields = fields(type, way, "", "; ");
    return fields.isEmpty()
        ? "Record<string, never>"
        : "{ " + fields.substring(0, fields.length() - 2) + " }";
  }

  private String fields(JavaType type, Way way, String before, String after) {
    return described(type).findProperties().stream()
        .filter(property -> property.getAccessor() != null)
        .map(property -> before + field(type, property, way) + after)
        .collect(Collectors.joining());
  }

  private String field(JavaType owner, BeanPropertyDefinition property, Way way) {
    var type = property.getAccessor().getType();
    var optional = way == Way.SENT && type.isReferenceType() ? "?" : "";
    var text = of(type, way);
    return quoted(property.getName())
        + optional
        + ": "
        + (isNullable(owner, property) ? orNull(text) : text);
  }

  private static BeanDescription described(JavaType type) {
    return MAPPER.getSerializationConfig().introspect(type);
  }

  private static boolean isNullable(JavaType owner, BeanPropertyDefinition property) {
    return Arrays.stream(owner.getRawClass().getRecordComponents())
        .filter(component -> component.getName().equals(property.getInternalName()))
        .map(RecordComponent::getAnnotatedType)
        .flatMap((AnnotatedType annotated) -> Arrays.stream(annotated.getAnnotations()))
        .anyMatch(found -> found.annotationType().getSimpleName().equals("Nullable"));
  }

  /** Whether what is sent may lack something that what is got has. */
  private static boolean differs(JavaType type, Map<String, Boolean> asked) {
    if (asked.putIfAbsent(type.toCanonical(), false) != null) {
      return false;
    }
    var raw = type.getRawClass();
    if (raw.isRecord()) {
      return described(type).findProperties().stream()
          .filter(property -> property.getAccessor() != null)
          .map(property -> property.getAccessor().getType())
          .anyMatch(part -> part.isReferenceType() || differs(part, asked));
    }
    var content = type.getContentType();
    if (content != null) {
      return differs(content, asked);
    }
    return raw.isSealed()
        && Arrays.stream(raw.getPermittedSubclasses())
            .anyMatch(one -> differs(MAPPER.getTypeFactory().constructType(one), asked));
  }

  private static String quoted(String name) {
    return name.matches("[A-Za-z_$][A-Za-z0-9_$]*") ? name : quotedText(name);
  }

  private static String quotedText(String text) {
    return Json.text(text);
  }
}

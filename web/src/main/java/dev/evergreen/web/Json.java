package dev.evergreen.web;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.DeserializationConfig;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.deser.BeanDeserializerModifier;
import com.fasterxml.jackson.databind.deser.std.DelegatingDeserializer;
import com.fasterxml.jackson.databind.exc.InvalidNullException;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.AnnotatedMember;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.type.LogicalType;
import dev.evergreen.json.ResultJson;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Period;
import java.time.Year;
import java.time.ZoneId;
import java.time.temporal.TemporalAccessor;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * JSON as this module speaks it: written generously, read strictly. Nothing that comes from outside
 * is coerced, and an error names the field.
 */
final class Json {

  private static final JsonMapper MAPPER =
      ResultJson.mapper(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(32)
                          .maxNumberLength(64)
                          .maxStringLength(1 << 20)
                          .build())
                  .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                  .build())
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .annotationIntrospector(new AllRequired())
          .defaultSetterInfo(JsonSetter.Value.construct(Nulls.FAIL, Nulls.FAIL))
          .addModule(new SimpleModule().setDeserializerModifier(new TimeIsText()))
          .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .withCoercionConfig(
              LogicalType.Textual,
              textual ->
                  textual
                      .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                      .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                      .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
          .withCoercionConfigDefaults(
              all -> all.setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail))
          .build();

  private static final String BYTE_ORDER_MARK = "\ufeff";

  private Json() {}

  /** Every component of a record is required, at any depth, but optionals. */
  private static final class AllRequired extends JacksonAnnotationIntrospector {
    @Override
    public Boolean hasRequiredMarker(AnnotatedMember member) {
      return member.getRawType() != Optional.class;
    }

    /** An optional may be null, too. */
    @Override
    public JsonSetter.Value findSetterInfo(Annotated annotated) {
      return annotated.getRawType() == Optional.class
          ? JsonSetter.Value.forValueNulls(Nulls.SET)
          : super.findSetterInfo(annotated);
    }
  }

  /** Jackson would also take numbers for these: seconds of whatever origin. */
  private static final class TimeIsText extends BeanDeserializerModifier {
    @Override
    public JsonDeserializer<?> modifyDeserializer(
        DeserializationConfig config, BeanDescription described, JsonDeserializer<?> deserializer) {
      return isTime(described.getBeanClass())
          ? new TextOnly(deserializer, described.getBeanClass())
          : deserializer;
    }
  }

  private static final class TextOnly extends DelegatingDeserializer {
    private final Class<?> type;

    TextOnly(JsonDeserializer<?> delegate, Class<?> type) {
      super(delegate);
      this.type = type;
    }

    @Override
    protected JsonDeserializer<?> newDelegatingInstance(JsonDeserializer<?> delegate) {
      return new TextOnly(delegate, type);
    }

    @Override
    public Object deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      if (!parser.hasToken(JsonToken.VALUE_STRING) || isNumber(parser.getText())) {
        return context.handleUnexpectedToken(type, parser);
      }
      return super.deserialize(parser, context);
    }

    private static boolean isNumber(String text) {
      return text.matches("[+-]?[0-9.]*");
    }
  }

  /** Our own small messages, which can always be written, as JSON. */
  static String text(@Nullable Object value) {
    try {
      return MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("Cannot write " + value, e);
    }
  }

  /**
   * Reads one JSON value.
   *
   * @throws WebException 400 {@code malformed} if it is none
   */
  static JsonNode tree(byte[] json) {
    try {
      var text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(json)).toString();
      return tree(text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text);
    } catch (CharacterCodingException e) {
      throw malformed("it is not UTF-8");
    }
  }

  /** As {@link #tree(byte[])}: of bytes Jackson would guess the encoding, and read it loosely. */
  static JsonNode tree(String json) {
    try {
      var node = MAPPER.readTree(json);
      if (node.isMissingNode()) {
        throw malformed("it is empty");
      }
      return node;
    } catch (JacksonException e) {
      throw malformed(where(e));
    }
  }

  private static WebException malformed(String why) {
    return new WebException(400, "malformed", "This is not JSON: " + why + ".");
  }

  private static String where(JacksonException e) {
    var location = e.getLocation();
    return location == null
        ? "unreadable"
        : "error in line " + location.getLineNr() + ", column " + location.getColumnNr();
  }

  /**
   * Turns a JSON value into an object, strictly.
   *
   * @throws WebException 400 {@code bad-params} with a message that names the field
   */
  static <T> T decode(JsonNode node, Class<T> type) {
    if (type.isRecord() && !node.isObject()) {
      throw badParams(
          "Expected an object with the fields " + names(type) + ", got " + kind(node) + ".");
    }
    try {
      return MAPPER.treeToValue(node, type);
    } catch (JsonMappingException e) {
      throw badParams(explain(e));
    } catch (JsonProcessingException e) {
      throw badParams(where(e));
    } catch (IllegalArgumentException e) {
      throw badParams(String.valueOf(e.getMessage()));
    }
  }

  static WebException badParams(String message) {
    return new WebException(400, "bad-params", message);
  }

  private static String explain(JsonMappingException e) {
    var field = path(e);
    return switch (e) {
      case UnrecognizedPropertyException unknown ->
          "Field '" + field + "' is unknown; expected are: " + known(unknown) + ".";
      case MismatchedInputException missing
          when missing.getTargetType() != null && isMissing(missing) ->
          "Field '" + field + "' is missing; expected " + expected(missing.getTargetType()) + ".";
      case MismatchedInputException mismatch
          when mismatch.getTargetType() != null && !field.isEmpty() ->
          "Field '" + field + "' must be " + expected(mismatch.getTargetType()) + ".";
      default -> {
        // A record's own constructor says no: its message is for whoever sent the value.
        var cause = e.getCause();
        if (cause instanceof InputCoercionException range && !field.isEmpty()) {
          yield "Field '" + field + "' must be " + expected(range.getTargetType()) + ".";
        }
        var reason =
            cause instanceof IllegalArgumentException && cause.getMessage() != null
                ? cause.getMessage()
                : "the value does not fit";
        yield field.isEmpty() ? reason : "Field '" + field + "': " + reason;
      }
    };
  }

  private static String known(UnrecognizedPropertyException e) {
    var ids = e.getKnownPropertyIds();
    return ids == null ? "none" : ids.stream().map(String::valueOf).sorted().toList().toString();
  }

  private static String path(JsonMappingException e) {
    var text = new StringBuilder();
    for (var step : e.getPath()) {
      if (step.getFieldName() == null) {
        text.append('[').append(step.getIndex()).append(']');
      } else {
        text.append(text.isEmpty() ? "" : ".").append(step.getFieldName());
      }
    }
    return text.toString();
  }

  /** Whether there is nothing where there must be something; null counts as nothing. */
  private static boolean isMissing(MismatchedInputException e) {
    return e instanceof InvalidNullException
        || String.valueOf(e.getMessage()).startsWith("Missing required");
  }

  private static String names(Class<?> type) {
    return Arrays.stream(type.getRecordComponents())
        .map(RecordComponent::getName)
        .toList()
        .toString();
  }

  private static String kind(JsonNode node) {
    return switch (node.getNodeType()) {
      case ARRAY -> "an array";
      case STRING -> "a string";
      case NUMBER -> "a number";
      case BOOLEAN -> "a boolean";
      case NULL -> "null";
      default -> "something else";
    };
  }

  private static String expected(Class<?> type) {
    if (type == String.class || type == char.class || type == Character.class) {
      return "a string";
    } else if (List.of(
            int.class,
            Integer.class,
            long.class,
            Long.class,
            short.class,
            Short.class,
            byte.class,
            Byte.class)
        .contains(type)) {
      return "an integer in range";
    } else if (Number.class.isAssignableFrom(type) || type == double.class || type == float.class) {
      return "a number";
    } else if (type == boolean.class || type == Boolean.class) {
      return "true or false";
    } else if (type.isEnum()) {
      return "one of " + Arrays.toString(type.getEnumConstants());
    } else if (isText(type)) {
      return "a string of type " + type.getSimpleName();
    } else if (type.isArray() || Collection.class.isAssignableFrom(type)) {
      return "an array";
    } else if (type.isRecord()) {
      return "an object with the fields " + names(type);
    }
    return Map.class.isAssignableFrom(type) ? "an object" : "a " + type.getSimpleName();
  }

  private static boolean isText(Class<?> type) {
    return type == String.class
        || type == UUID.class
        || type == Duration.class
        || type == Period.class
        || type.isEnum()
        || TemporalAccessor.class.isAssignableFrom(type)
        || ZoneId.class.isAssignableFrom(type);
  }

  private static boolean isTime(Class<?> type) {
    return isText(type)
        && (type.getName().startsWith("java.time.") && !type.isEnum() && type != Year.class);
  }

  /**
   * The parameters of a query string as an object. Values of components that are written as JSON
   * strings are taken as they are; others are JSON, or text where they are none.
   *
   * @throws WebException 400 {@code bad-params} if a name is given twice
   */
  static ObjectNode fromQuery(Map<String, List<String>> query, Class<? extends Record> type) {
    var node = MAPPER.createObjectNode();
    var text =
        Arrays.stream(type.getRecordComponents())
            .filter(component -> isText(plainType(component)))
            .map(RecordComponent::getName)
            .toList();
    query.forEach(
        (name, values) -> {
          if (values.size() != 1) {
            throw badParams("Field '" + name + "' is given " + values.size() + " times.");
          }
          var value = values.getFirst();
          node.set(name, text.contains(name) ? node.textNode(value) : jsonOrText(value, node));
        });
    return node;
  }

  private static JsonNode jsonOrText(String value, ObjectNode factory) {
    try {
      var node = MAPPER.readTree(value);
      return node.isMissingNode() ? factory.textNode(value) : node;
    } catch (JacksonException notJson) {
      return factory.textNode(value);
    }
  }

  private static Class<?> plainType(RecordComponent component) {
    if (component.getType() == Optional.class
        && component.getGenericType() instanceof java.lang.reflect.ParameterizedType optional
        && optional.getActualTypeArguments()[0] instanceof Class<?> inner) {
      return inner;
    }
    return component.getType();
  }

  /** Parameters as a client would give them, which leaves out what is not there. */
  static ObjectNode treeOf(Record params) {
    ObjectNode tree = MAPPER.valueToTree(params);
    tree.properties().removeIf(field -> field.getValue().isNull());
    return tree;
  }

  static ObjectNode emptyObject() {
    return MAPPER.createObjectNode();
  }
}

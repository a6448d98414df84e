package dev.evergreen.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Results as JSON, the same at every edge: records and maps as objects, collections and arrays as
 * arrays, optionals as their value or null, {@code java.time} as ISO 8601 strings. Jackson's
 * annotations are honoured.
 */
public final class ResultJson {

  private static final JsonMapper MAPPER = mapper(new JsonFactory()).build();

  private ResultJson() {}

  /** A mapper that writes as this class does, for whoever also reads. */
  public static JsonMapper.Builder mapper(JsonFactory factory) {
    return JsonMapper.builder(factory)
        .addModule(new Jdk8Module())
        .addModule(new JavaTimeModule())
        .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
        .disable(SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
        .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS);
  }

  /**
   * The value as JSON in UTF-8, without line breaks.
   *
   * @throws TooLargeException if it is longer than {@code maxBytes}
   * @throws com.fasterxml.jackson.core.JsonProcessingException if it cannot be written as JSON
   */
  public static byte[] write(@Nullable Object value, int maxBytes) throws IOException {
    var out = new BoundedOutput(maxBytes);
    MAPPER.writeValue(out, value);
    return out.toByteArray();
  }

  /** A result is longer than it may be. */
  public static final class TooLargeException extends IOException {
    TooLargeException(int maxBytes) {
      super("more than " + maxBytes + " bytes of JSON");
    }
  }

  private static final class BoundedOutput extends OutputStream {

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final int maxBytes;

    BoundedOutput(int maxBytes) {
      this.maxBytes = maxBytes;
    }

    @Override
    public void write(byte[] more, int from, int length) throws TooLargeException {
      check(length);
      bytes.write(more, from, length);
    }

    @Override
    public void write(int b) throws TooLargeException {
      check(1);
      bytes.write(b);
    }

    byte[] toByteArray() {
      return bytes.toByteArray();
    }

    private void check(int more) throws TooLargeException {
      if (more > maxBytes - bytes.size()) {
        throw new TooLargeException(maxBytes);
      }
    }
  }
}

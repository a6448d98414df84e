package dev.evergreen.codec;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The types without parts, and how each is written. */
final class Scalars {
  private static final Map<Class<?>, Shape> ALL = new HashMap<>();
  private static final int MAX_NANO = 999_999_999;

  private Scalars() {}

  static @Nullable Shape of(Class<?> type) {
    return ALL.get(type);
  }

  static {
    primitives();
    texts();
    bigNumbers();
    instants();
    localTimes();
    zones();
    calendar();
  }

  private static <T> void add(Class<T> type, Scalar<T> scalar) {
    ALL.put(type, scalar);
  }

  private static <T> void pack(Class<T> type, int bound, Scalar.Put<T> put, Scalar.Get<T> get) {
    add(type, new Scalar<>(type, Tag.PACK, bound, put, get));
  }

  private static <T> void primitive(
      Class<?> primitive, Object zero, Class<T> boxed, Scalar<T> scalar) {
    add(boxed, scalar);
    ALL.put(primitive, scalar.primitive(primitive, zero));
  }

  private static void primitives() {
    ALL.put(void.class, new VoidShape());
    ALL.put(Void.class, new VoidShape());
    ALL.put(Boolean.class, new BooleanShape(true));
    ALL.put(boolean.class, new BooleanShape(false));
    primitive(
        byte.class,
        (byte) 0,
        Byte.class,
        new Scalar<>(
            Byte.class,
            Tag.INT,
            2,
            (out, v) -> out.zigzag(v),
            in -> (byte) ranged(in, Byte.MIN_VALUE, Byte.MAX_VALUE)));
    primitive(
        short.class,
        (short) 0,
        Short.class,
        new Scalar<>(
            Short.class,
            Tag.INT,
            2,
            (out, v) -> out.zigzag(v),
            in -> (short) ranged(in, Short.MIN_VALUE, Short.MAX_VALUE)));
    primitive(
        char.class,
        (char) 0,
        Character.class,
        new Scalar<>(
            Character.class,
            Tag.INT,
            2,
            (out, v) -> out.zigzag(v),
            in -> (char) ranged(in, 0, Character.MAX_VALUE)));
    primitive(
        int.class,
        0,
        Integer.class,
        new Scalar<>(Integer.class, Tag.INT, 3, (out, v) -> out.zigzag(v), Scalars::int32));
    primitive(
        long.class,
        0L,
        Long.class,
        new Scalar<>(Long.class, Tag.INT, 6, (out, v) -> out.zigzag(v), Reader::zigzag));
    primitive(
        float.class,
        0f,
        Float.class,
        new Scalar<>(
            Float.class,
            Tag.FLOAT,
            3,
            (out, v) -> out.fixed4(Float.floatToIntBits(v)),
            Scalars::float32));
    primitive(
        double.class,
        0d,
        Double.class,
        new Scalar<>(
            Double.class,
            Tag.DOUBLE,
            5,
            (out, v) -> out.fixed8(Double.doubleToLongBits(v)),
            Scalars::float64));
  }

  private static void texts() {
    add(
        String.class,
        new Scalar<>(String.class, Tag.STRING, 0, Writer::text, Reader::text)
            .sized(text -> 3 + text.length()));
    add(
        URI.class,
        new Scalar<>(URI.class, Tag.STRING, 0, (out, v) -> out.text(v.toString()), Scalars::uri)
            .sized(uri -> 3 + uri.toString().length()));
    add(
        ZoneId.class,
        new Scalar<>(ZoneId.class, Tag.STRING, 0, (out, v) -> out.text(v.getId()), Scalars::zone)
            .sized(zone -> 3 + zone.getId().length()));
  }

  private static void bigNumbers() {
    add(
        BigInteger.class,
        new Scalar<>(
                BigInteger.class,
                Tag.PACK,
                0,
                (out, v) -> out.raw(v.toByteArray()),
                Scalars::bigInteger)
            .sized(v -> 3 + v.bitLength() / 8));
    add(
        BigDecimal.class,
        new Scalar<>(BigDecimal.class, Tag.PACK, 0, Scalars::putDecimal, Scalars::decimal)
            .sized(v -> 6 + v.unscaledValue().bitLength() / 8));
    pack(
        UUID.class,
        9,
        (out, v) -> {
          out.fixed8(v.getMostSignificantBits());
          out.fixed8(v.getLeastSignificantBits());
        },
        in -> new UUID(in.fixed8(), in.fixed8()));
  }

  private static void instants() {
    pack(
        Instant.class,
        9,
        (out, v) -> {
          out.zigzag(v.getEpochSecond());
          out.varint(v.getNano());
        },
        in -> Instant.ofEpochSecond(in.zigzag(), nano(in)));
    pack(
        Duration.class,
        9,
        (out, v) -> {
          out.zigzag(v.getSeconds());
          out.varint(v.getNano());
        },
        in -> Duration.ofSeconds(in.zigzag(), nano(in)));
  }

  private static void localTimes() {
    pack(
        LocalDate.class,
        6,
        (out, v) -> out.zigzag(v.toEpochDay()),
        in -> LocalDate.ofEpochDay(in.zigzag()));
    pack(
        LocalTime.class,
        6,
        (out, v) -> out.varint(v.toNanoOfDay()),
        in -> LocalTime.ofNanoOfDay(in.varint()));
    pack(LocalDateTime.class, 9, Scalars::putDateTime, Scalars::dateTime);
  }

  private static void zones() {
    pack(ZoneOffset.class, 4, Scalars::putOffset, Scalars::offset);
    pack(
        OffsetTime.class,
        9,
        (out, v) -> {
          out.varint(v.toLocalTime().toNanoOfDay());
          putOffset(out, v.getOffset());
        },
        in -> OffsetTime.of(LocalTime.ofNanoOfDay(in.varint()), offset(in)));
    pack(
        OffsetDateTime.class,
        12,
        (out, v) -> {
          putDateTime(out, v.toLocalDateTime());
          putOffset(out, v.getOffset());
        },
        in -> OffsetDateTime.of(dateTime(in), offset(in)));
    add(
        ZonedDateTime.class,
        new Scalar<>(
                ZonedDateTime.class,
                Tag.PACK,
                0,
                (out, v) -> {
                  putDateTime(out, v.toLocalDateTime());
                  putOffset(out, v.getOffset());
                  out.text(v.getZone().getId());
                },
                in -> ZonedDateTime.ofInstant(dateTime(in), offset(in), zone(in)))
            .sized(v -> 16 + v.getZone().getId().length()));
  }

  private static void calendar() {
    pack(Year.class, 4, (out, v) -> out.zigzag(v.getValue()), in -> Year.of(int32(in)));
    pack(
        YearMonth.class,
        6,
        (out, v) -> {
          out.zigzag(v.getYear());
          out.varint(v.getMonthValue());
        },
        in -> YearMonth.of(int32(in), small(in)));
    pack(
        MonthDay.class,
        3,
        (out, v) -> {
          out.varint(v.getMonthValue());
          out.varint(v.getDayOfMonth());
        },
        in -> MonthDay.of(small(in), small(in)));
    pack(
        Period.class,
        9,
        (out, v) -> {
          out.zigzag(v.getYears());
          out.zigzag(v.getMonths());
          out.zigzag(v.getDays());
        },
        in -> Period.of(int32(in), int32(in), int32(in)));
  }

  private static long ranged(Reader in, long least, long most) {
    return in.within(in.zigzag(), least, most);
  }

  static int int32(Reader in) {
    return (int) ranged(in, Integer.MIN_VALUE, Integer.MAX_VALUE);
  }

  private static int small(Reader in) {
    return (int) in.within(in.varint(), 0, 127);
  }

  private static int nano(Reader in) {
    return (int) in.within(in.varint(), 0, MAX_NANO);
  }

  static float float32(Reader in) {
    int bits = in.fixed4();
    float value = Float.intBitsToFloat(bits);
    if (Float.floatToIntBits(value) != bits) {
      throw in.malformed("a NaN is not the one NaN");
    }
    return value;
  }

  static double float64(Reader in) {
    long bits = in.fixed8();
    double value = Double.longBitsToDouble(bits);
    if (Double.doubleToLongBits(value) != bits) {
      throw in.malformed("a NaN is not the one NaN");
    }
    return value;
  }

  private static URI uri(Reader in) {
    String text = in.text();
    try {
      return URI.create(text);
    } catch (IllegalArgumentException e) {
      throw in.malformed("no URI", e);
    }
  }

  private static BigInteger bigInteger(Reader in) {
    byte[] bytes = in.raw(in.remaining());
    boolean padded =
        bytes.length > 1 && (bytes[0] == 0 ? bytes[1] >= 0 : bytes[0] == -1 && bytes[1] < 0);
    if (bytes.length == 0 || padded) {
      throw in.malformed("a big number has no bytes, or more than it needs");
    }
    return new BigInteger(bytes);
  }

  private static void putDecimal(Writer out, BigDecimal value) {
    out.zigzag(value.scale());
    out.raw(value.unscaledValue().toByteArray());
  }

  private static BigDecimal decimal(Reader in) {
    int scale = int32(in);
    return new BigDecimal(bigInteger(in), scale);
  }

  private static void putDateTime(Writer out, LocalDateTime value) {
    out.zigzag(value.toLocalDate().toEpochDay());
    out.varint(value.toLocalTime().toNanoOfDay());
  }

  private static LocalDateTime dateTime(Reader in) {
    var date = LocalDate.ofEpochDay(in.zigzag());
    return LocalDateTime.of(date, LocalTime.ofNanoOfDay(in.varint()));
  }

  private static void putOffset(Writer out, ZoneOffset offset) {
    out.zigzag(offset.getTotalSeconds());
  }

  private static ZoneOffset offset(Reader in) {
    return ZoneOffset.ofTotalSeconds(int32(in));
  }

  private static ZoneId zone(Reader in) {
    String id = in.text();
    ZoneId zone = ZoneId.of(id);
    if (!zone.getId().equals(id)) {
      throw in.malformed("the zone is not called " + id + " but " + zone.getId());
    }
    return zone;
  }

  /** The one scalar with two tags and no content. */
  private static final class BooleanShape extends Shape {
    private final boolean nullable;

    BooleanShape(boolean nullable) {
      super(nullable ? "Boolean" : "boolean");
      this.nullable = nullable;
    }

    @Override
    boolean nullable() {
      return nullable;
    }

    @Override
    @Nullable Object absent() {
      return nullable ? null : Boolean.FALSE;
    }

    @Override
    int bound() {
      return 1;
    }

    @Override
    boolean equalsIsSame() {
      return true;
    }

    @Override
    boolean plain() {
      return true;
    }

    @Override
    void write(Writer out, Object value) {
      out.tag(checked(value) ? Tag.TRUE : Tag.FALSE);
    }

    @Override
    Object read(Reader in, int tag) {
      if (tag != Tag.TRUE) {
        requireTag(in, tag, Tag.FALSE);
      }
      return tag == Tag.TRUE;
    }

    @Override
    Object freezeValue(Object value, Walk walk) {
      checked(value);
      walk.count(1);
      return value;
    }

    @Override
    boolean sameValue(Object a, Object b, int levels) {
      return a.equals(b);
    }

    private boolean checked(Object value) {
      if (value instanceof Boolean is) {
        return is;
      }
      throw wrongClass(value);
    }
  }

  /** The result of a method without one: null and nothing else. */
  private static final class VoidShape extends Shape {
    VoidShape() {
      super("void");
    }

    @Override
    int bound() {
      return 1;
    }

    @Override
    void write(Writer out, Object value) {
      throw wrongClass(value);
    }

    @Override
    Object read(Reader in, int tag) {
      throw in.malformed("tag " + tag + " where there can be but null");
    }

    @Override
    Object freezeValue(Object value, Walk walk) {
      throw wrongClass(value);
    }

    @Override
    boolean sameValue(Object a, Object b, int levels) {
      throw wrongClass(a);
    }
  }
}

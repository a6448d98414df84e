package dev.evergreen.web;

import dev.evergreen.codec.Codec;
import dev.evergreen.codec.Limits;
import dev.evergreen.codec.MalformedValueException;
import dev.evergreen.codec.NotAValueException;
import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.codec.ValueType;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Which computation: the view, and all that it is given, as bytes. The computation gets what these
 * bytes stand for and nothing else, so that two who share a key cannot be told apart by it.
 */
final class ViewKey {

  private static final Codec CODEC = Codec.create(Limits.DEFAULT);
  private static final ValueType CALLER = CODEC.of(Caller.class);

  private final String text;
  private final byte[] params;

  /** Without its session; empty for a view that is not given its caller. */
  private final byte[] caller;

  private ViewKey(String text, byte[] params, byte[] caller) {
    this.text = text;
    this.params = params;
    this.caller = caller;
  }

  /**
   * The value type of a view's parameters.
   *
   * @throws IllegalArgumentException if they hold what is no value
   */
  static ValueType type(Class<? extends Record> params) {
    try {
      return CODEC.of(params);
    } catch (NotAValueException e) {
      throw new IllegalArgumentException("Parameters of a view are values: " + e.getMessage(), e);
    }
  }

  /**
   * The key for this caller and these parameters.
   *
   * @throws WebException 400 if the parameters are too large, or no Unicode
   */
  static ViewKey of(LiveView<?> view, Caller caller, Record params) {
    try {
      var one = view.valueType().encode(params);
      var two = view.perCaller() ? CALLER.encode(caller.withoutSession()) : new byte[0];
      var text = view.name() + "\n" + one.length + "\n" + latin(one) + latin(two);
      return new ViewKey(text, one, two);
    } catch (ValueLimitException e) {
      throw Json.badParams("The parameters are too large.");
    } catch (NotAValueException e) {
      throw Json.badParams("The parameters hold what is no value: " + e.getMessage());
    }
  }

  /**
   * Begins with the view's name. A string, because strings compare: many that hash alike on purpose
   * still cost only a tree.
   */
  String text() {
    return text;
  }

  /** The parameters as the computation gets them. */
  <P extends Record> P params(LiveView<P> view) {
    return view.paramsType().cast(decoded(view.valueType(), params));
  }

  /** The caller as the computation gets it; anonymous for a view that is not given it. */
  Caller seenCaller() {
    return caller.length == 0 ? Caller.ANONYMOUS : (Caller) decoded(CALLER, caller);
  }

  private static Object decoded(ValueType type, byte[] bytes) {
    try {
      return Objects.requireNonNull(type.decode(bytes));
    } catch (MalformedValueException e) {
      throw new IllegalStateException("These bytes were encoded by this process", e);
    }
  }

  private static String latin(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }
}

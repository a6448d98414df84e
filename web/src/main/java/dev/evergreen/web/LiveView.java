package dev.evergreen.web;

import dev.evergreen.codec.ValueType;
import dev.evergreen.core.Computation;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A result that browsers may look at: a name, parameters, a check who may, and the computation that
 * makes it. One computation runs for each view and parameters, however many look; it is closed a
 * while after the last one has left.
 *
 * <p>Parameters are a record of values, decoded strictly: unknown fields, wrong types, {@code null}
 * and missing fields are refused with status 400 and a message that names the field. A component of
 * type {@link java.util.Optional} may be missing. Results are written as JSON by Jackson: records,
 * lists, maps, optionals, {@code java.time} as ISO 8601 strings; Jackson's annotations are
 * honoured.
 *
 * @param <P> the parameters
 */
public final class LiveView<P extends Record> {

  /** The parameters of a view that has none. */
  public record NoParams() {}

  private static final Pattern NAME = Pattern.compile("[a-z0-9]+([.-][a-z0-9]+)*");

  private final String name;
  private final Class<P> paramsType;
  private final @Nullable Type resultType;
  private final ValueType valueType;
  private final Authorisation<? super P> authorisation;
  private final boolean perCaller;
  private final BiFunction<Caller, P, ? extends Computation<?>> computation;
  private final @Nullable Duration every;

  private LiveView(
      String name,
      Class<P> paramsType,
      @Nullable ResultType<?> resultType,
      Authorisation<? super P> authorisation,
      boolean perCaller,
      BiFunction<Caller, P, ? extends Computation<?>> computation,
      @Nullable Duration every) {
    this.name = checkName(name);
    this.paramsType = paramsType;
    this.resultType = resultType == null ? null : resultType.type();
    this.valueType = ViewKey.type(paramsType);
    this.authorisation = authorisation;
    this.perCaller = perCaller;
    this.computation = computation;
    this.every = every;
  }

  /**
   * A view whose result is the same for all who may see it.
   *
   * @param name lower-case letters, digits, '-' and '.'; a part of the URL
   * @param paramsType a record of values, as arguments of grains are
   * @param authorisation asked at subscription and before each delivery
   * @param computation called once for each distinct parameters; what it returns runs as a reactive
   *     computation
   * @throws IllegalArgumentException if the parameters hold what is no value
   */
  public static <P extends Record> LiveView<P> of(
      String name,
      Class<P> paramsType,
      Authorisation<? super P> authorisation,
      Function<P, ? extends Computation<?>> computation) {
    return new LiveView<>(
        name,
        paramsType,
        null,
        authorisation,
        false,
        (caller, params) -> computation.apply(params),
        null);
  }

  /**
   * As {@link #of(String, Class, Authorisation, Function)}, and says what its results are, for
   * {@link WebServer.Builder#typeScript}.
   */
  public static <P extends Record, R> LiveView<P> of(
      String name,
      Class<P> paramsType,
      ResultType<R> resultType,
      Authorisation<? super P> authorisation,
      Function<P, ? extends Computation<? extends R>> computation) {
    return new LiveView<>(
        name,
        paramsType,
        resultType,
        authorisation,
        false,
        (caller, params) -> computation.apply(params),
        null);
  }

  /**
   * A view whose result depends on who looks: one computation for each caller's name and roles, and
   * parameters. That is all it is given: the caller's session is left out, as all sessions of a
   * caller share the computation.
   */
  public static <P extends Record> LiveView<P> perCaller(
      String name,
      Class<P> paramsType,
      Authorisation<? super P> authorisation,
      BiFunction<Caller, P, ? extends Computation<?>> computation) {
    return new LiveView<>(name, paramsType, null, authorisation, true, computation, null);
  }

  /**
   * As {@link #perCaller(String, Class, Authorisation, BiFunction)}, and says what its results are,
   * for {@link WebServer.Builder#typeScript}.
   */
  public static <P extends Record, R> LiveView<P> perCaller(
      String name,
      Class<P> paramsType,
      ResultType<R> resultType,
      Authorisation<? super P> authorisation,
      BiFunction<Caller, P, ? extends Computation<? extends R>> computation) {
    return new LiveView<>(name, paramsType, resultType, authorisation, true, computation, null);
  }

  /**
   * A view of what no grain holds: asked anew at intervals, while somebody looks.
   *
   * @param every from the end of an answer to the next question
   * @param result asked on a virtual thread; may block
   */
  public static LiveView<NoParams> polled(
      String name,
      Authorisation<? super NoParams> authorisation,
      Duration every,
      Computation<?> result) {
    return new LiveView<>(
        name, NoParams.class, null, authorisation, false, (caller, params) -> result, every);
  }

  /** The name, as it appears in the URL. */
  public String name() {
    return name;
  }

  static String checkName(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "A name is lower-case letters, digits, '-' and '.', not '" + name + "'.");
    }
    return name;
  }

  Class<P> paramsType() {
    return paramsType;
  }

  /** What its results are; null if that was not said. */
  @Nullable Type resultType() {
    return resultType;
  }

  ValueType valueType() {
    return valueType;
  }

  /** After how long the result is asked for again; null if the runtime keeps it true. */
  @Nullable Duration every() {
    return every;
  }

  boolean perCaller() {
    return perCaller;
  }

  /**
   * Whether this caller may see it; who cannot be checked may not.
   *
   * @throws WebException if the application's check refuses by one
   */
  boolean allows(Caller caller, P params, Failures failures) {
    try {
      return authorisation.allows(caller, params);
    } catch (WebException refused) {
      throw refused;
    } catch (Throwable e) {
      // Also an Error, such as a stack that overflows.
      failures.log("The authorisation check of view " + name + " failed.", e);
      return false;
    }
  }

  Computation<?> computation(Caller caller, P params) {
    return computation.apply(caller, params);
  }
}

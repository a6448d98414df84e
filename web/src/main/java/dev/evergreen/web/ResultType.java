package dev.evergreen.web;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;

/**
 * The type of a view's or a command's results, so that pages can be told of it: {@link
 * WebServer.Builder#typeScript}. Java keeps type arguments only in the head of a class, hence the
 * braces: {@code new ResultType<List<Chirp>>() {}}.
 *
 * @param <R> the results
 */
public abstract class ResultType<R> {

  private final Type type;

  /** The type that {@code R} is given in the head of the subclass. */
  protected ResultType() {
    if (!(getClass().getGenericSuperclass() instanceof ParameterizedType named)) {
      throw new IllegalStateException(
          "A result type names its type: new ResultType<List<String>>() {}");
    }
    type = named.getActualTypeArguments()[0];
  }

  final Type type() {
    return type;
  }
}

package dev.evergreen.shims.redis;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** The commands that the families speak of. */
final class Commands {
  /**
   * What is known of a command.
   *
   * @param family the family's name
   * @param touches tells the call which cells it touches
   * @param runs does on the call's state what Redis does, and gives the reply
   * @param shape makes replies equal that clients would call the same: those without an order
   *     become sets
   */
  record Command(
      String family,
      Consumer<Call> touches,
      Function<Call, Object> runs,
      UnaryOperator<Object> shape) {}

  /**
   * For what is too long to be written again: answers that depend on it are closed witnesses,
   * perhaps not minimal.
   */
  static final Function<Call, Object> NOT_MODELLED =
      call -> {
        throw new UnsupportedOperationException("no model of " + call.option(0));
      };

  /**
   * For replies that are no function of requests, or depend on more than what they speak of: what
   * is touched tells who has written that, and no more is claimed.
   */
  static final Function<Call, Object> NO_FUNCTION =
      call -> {
        throw new UnsupportedOperationException("no function: " + call.option(0));
      };

  private final Map<String, Command> all = new HashMap<>();
  private String family = "";

  /** All that is defined from here on belongs to this family. */
  Commands family(String name) {
    family = name;
    return this;
  }

  /**
   * Defines the commands of these names, separated by spaces, whose replies have an order or are no
   * lists.
   */
  void on(String names, Consumer<Call> touches, Function<Call, Object> runs) {
    on(names, touches, runs, UnaryOperator.identity());
  }

  /** Defines commands whose replies are lists without an order. */
  void unordered(String names, Consumer<Call> touches, Function<Call, Object> runs) {
    on(names, touches, runs, reply -> reply instanceof List<?> list ? new HashSet<>(list) : reply);
  }

  /** Defines commands whose replies are brought into a shape before they are compared. */
  void on(
      String names,
      Consumer<Call> touches,
      Function<Call, Object> runs,
      UnaryOperator<Object> shape) {
    for (var name : names.split(" ", -1)) {
      all.put(name, new Command(family, touches, runs, shape));
    }
  }

  Map<String, Command> all() {
    return Map.copyOf(all);
  }
}

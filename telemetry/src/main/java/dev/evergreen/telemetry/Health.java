package dev.evergreen.telemetry;

import dev.evergreen.core.Node;
import dev.evergreen.reports.Reporter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Whether a process should be sent work: while all its checks hold. A process that is alive but not
 * ready is not to be restarted; so liveness has no checks of its own. Immutable.
 */
public final class Health {

  private final Map<String, BooleanSupplier> checks;

  private Health(Map<String, BooleanSupplier> checks) {
    this.checks = checks;
  }

  /** Ready while the node takes calls. */
  public static Health of(Node node) {
    return new Health(Map.of()).and("node", () -> Reporter.of(node).serving());
  }

  /**
   * The same with another check.
   *
   * @param name what is checked, in the answer when it does not hold
   * @param holds may block for a moment; an exception counts as no
   * @throws IllegalArgumentException if there is a check of this name
   */
  public Health and(String name, BooleanSupplier holds) {
    var more = new LinkedHashMap<>(checks);
    if (more.putIfAbsent(name, holds) != null) {
      throw new IllegalArgumentException("There are two checks named '" + name + "'.");
    }
    return new Health(more);
  }

  /** Which checks do not hold, as one line; empty if all do. */
  public Optional<String> trouble() {
    var failing = new ArrayList<String>();
    checks.forEach(
        (name, check) -> {
          if (!holds(check)) {
            failing.add(name);
          }
        });
    return failing.isEmpty()
        ? Optional.empty()
        : Optional.of("not ready: " + String.join(", ", failing));
  }

  private static boolean holds(BooleanSupplier check) {
    try {
      return check.getAsBoolean();
    } catch (RuntimeException e) {
      return false;
    }
  }
}

package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Small grains that several tests use. */
public final class TestGrains {

  public static final Duration SOON = Duration.ofSeconds(20);
  static final Duration SHORTLY = Duration.ofMillis(150);

  private TestGrains() {}

  /** A node with all of these grains. */
  public static EmbeddedNode.Builder node() {
    return EmbeddedNode.builder()
        .grain(Cell.class, CellGrain::new)
        .grain(Sum.class, SumGrain::new)
        .grain(Gate.class, GateGrain::new);
  }

  /** The same grains for a node of several. */
  public static GrainTypes types() {
    return GrainTypes.create()
        .add(Cell.class, CellGrain::new)
        .add(Sum.class, SumGrain::new)
        .add(Gate.class, GateGrain::new);
  }

  /** Does something at the end of a stack, and further and further from it until there is room. */
  static void whereTheStackEnds(Runnable something) throws InterruptedException {
    var thread = new Thread(null, () -> descend(something), "deep", 256 * 1_024);
    thread.start();
    thread.join();
  }

  @SuppressWarnings("InfiniteRecursion") // until the stack ends
  private static void descend(Runnable something) {
    try {
      descend(something);
    } catch (StackOverflowError e) {
      something.run();
    }
  }

  /** That an error names what it is about. */
  static void assertNames(Throwable thrown, String part) {
    var message = String.valueOf(thrown.getMessage());
    assertTrue(message.contains(part), () -> part + " is missing in: " + message);
  }

  record Held(String text) {}

  /** Holds a text. */
  public interface Cell extends Grain {
    @ReadOnly
    String text();

    @ReadOnly
    int length();

    @ReadOnly
    String textOrThrow();

    void set(String text);

    void touch();

    void setAndThrow(String text);
  }

  static final class CellGrain implements Cell {
    static final AtomicInteger EXECUTIONS = new AtomicInteger();

    private final State<Held> state;

    CellGrain(GrainContext<String> context) {
      state = context.state(Held.class, new Held(""));
    }

    @Override
    public String text() {
      EXECUTIONS.incrementAndGet();
      return state.get().text();
    }

    @Override
    public int length() {
      return state.get().text().length();
    }

    @Override
    public String textOrThrow() {
      var text = state.get().text();
      if (text.startsWith("!")) {
        throw new IllegalStateException(text);
      }
      return text;
    }

    @Override
    public void set(String text) {
      state.set(new Held(text));
    }

    @Override
    public void touch() {}

    @Override
    public void setAndThrow(String text) {
      state.set(new Held(text));
      throw new IllegalArgumentException("not " + text);
    }
  }

  /** Combines cells. */
  public interface Sum extends Grain {
    @ReadOnly
    String joined(List<String> cells);

    @ReadOnly
    String joinedInParallel(List<String> cells);

    @ReadOnly
    int totalLength(List<String> cells);

    /** The text of the cell that the cell {@code switchCell} names. */
    @ReadOnly
    String selected(String switchCell);

    @ReadOnly
    String orElse(String cell, String otherwise);

    @ReadOnly
    String twice(String cell);

    @ReadOnly
    String below(String sum, List<String> cells);
  }

  static final class SumGrain implements Sum {
    private final Grains grains;

    SumGrain(GrainContext<String> context) {
      grains = context.grains();
    }

    private Cell cell(String key) {
      return grains.get(Cell.class, key);
    }

    @Override
    public String joined(List<String> cells) {
      var parts = new ArrayList<String>();
      for (var key : cells) {
        parts.add(cell(key).text());
      }
      return String.join(",", parts);
    }

    @Override
    public String joinedInParallel(List<String> cells) {
      return String.join(",", Parallel.map(cells, key -> cell(key).text()));
    }

    @Override
    public int totalLength(List<String> cells) {
      return Parallel.map(cells, key -> cell(key).length()).stream().mapToInt(n -> n).sum();
    }

    @Override
    public String selected(String switchCell) {
      return cell(cell(switchCell).text()).text();
    }

    @Override
    public String orElse(String cell, String otherwise) {
      try {
        return cell(cell).textOrThrow();
      } catch (IllegalStateException e) {
        return otherwise;
      }
    }

    @Override
    public String twice(String cell) {
      return cell(cell).text() + cell(cell).text();
    }

    @Override
    public String below(String sum, List<String> cells) {
      return "[" + grains.get(Sum.class, sum).joined(cells) + "]";
    }
  }

  /** Holds turns up until a test lets them go. */
  public interface Gate extends Grain {
    @ReadOnly
    String readWhenOpen();

    String writeWhenOpen();
  }

  public static final class GateGrain implements Gate {
    public static volatile CountDownLatch entered = new CountDownLatch(0);
    public static volatile CountDownLatch open = new CountDownLatch(0);

    GateGrain(GrainContext<String> context) {}

    public static void shut() {
      entered = new CountDownLatch(1);
      open = new CountDownLatch(1);
    }

    static String pass(String result) {
      entered.countDown();
      try {
        if (!open.await(30, TimeUnit.SECONDS)) {
          throw new IllegalStateException("nobody opened the gate");
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return result;
    }

    @Override
    public String readWhenOpen() {
      return pass("read");
    }

    @Override
    public String writeWhenOpen() {
      return pass("written");
    }
  }
}

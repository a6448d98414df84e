package dev.evergreen.provenance;

import dev.evergreen.provenance.Touch.Effect;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A store of the tests with a model: {@code set KEY VALUE}, {@code add KEY}, {@code nx KEY VALUE},
 * {@code copy FROM TO}, {@code del KEY}, {@code push KEY VALUE}, whose reply tells nothing, {@code
 * grow KEY LENGTH}, which puts as many zeros, {@code get KEY}, and {@code first KEY}, which answers
 * what was pushed first.
 */
public final class StepsKind implements StoreKind, Specification, Model {

  /** So often an operation {@code die} is the end of who asks what it touches. */
  static final AtomicInteger DEATHS = new AtomicInteger();

  /** Made by the service loader. */
  public StepsKind() {}

  @Override
  public Specification specification() {
    return this;
  }

  @Override
  public String store() {
    return "steps";
  }

  @Override
  public List<Bytes> words(Bytes recorded) {
    return Arrays.stream(recorded.latin1().split(" ", 3)).map(Bytes::of).toList();
  }

  @Override
  public Bytes recorded(List<Bytes> words) {
    return Bytes.of(String.join(" ", words.stream().map(Bytes::text).toList()));
  }

  @Override
  public Cell keys(String space) {
    return Cell.ALL;
  }

  @Override
  public List<Touch> touches(Operation operation) {
    var words = operation.request();
    var cell = Cell.ALL.child(words.get(1));
    return switch (words.getFirst().text()) {
      case "set" -> List.of(Touch.replaces(cell).effect(effect(operation, true)));
      case "add", "push", "grow" -> List.of(Touch.changes(cell).effect(effect(operation, true)));
      case "nx" -> List.of(Touch.changes(cell).effect(effect(operation, operation.replied("1"))));
      case "copy" -> {
        var target = Cell.ALL.child(words.get(2));
        var touch = operation.replied("1") ? Touch.replaces(target) : Touch.changes(target);
        yield List.of(touch.from(cell).effect(effect(operation, operation.replied("1"))));
      }
      case "del" ->
          List.of(
              Touch.reads(cell),
              Touch.replaces(cell).effect(effect(operation, operation.replied("1"))));
      case "die" -> {
        if (DEATHS.getAndDecrement() > 0) {
          throw new InternalError("of a test");
        }
        yield List.of();
      }
      case "starve" -> {
        if (DEATHS.getAndDecrement() > 0) {
          throw new OutOfMemoryError("of a test");
        }
        yield List.of();
      }
      default -> List.of(Touch.reads(cell));
    };
  }

  private static Effect effect(Operation operation, boolean changed) {
    return operation.outcomeUnknown() ? Effect.UNKNOWN : changed ? Effect.YES : Effect.NO;
  }

  @Override
  public Optional<Model> model() {
    return Optional.of(this);
  }

  @Override
  public Object run(Operation operation, State state) {
    var words = operation.request();
    var cell = Cell.ALL.child(words.get(1));
    switch (words.getFirst().text()) {
      case "set" -> {
        state.put(cell, words.get(2));
        return Bytes.of("ok");
      }
      case "add" -> {
        var old = state.get(cell);
        var sum = Bytes.of("" + (Long.parseLong(old == null ? "0" : old.toString()) + 1));
        state.put(cell, sum);
        return sum;
      }
      case "push" -> {
        var old = state.get(cell);
        state.put(cell, Bytes.of((old == null ? "" : old.toString()) + words.get(2).text()));
        return Bytes.of("ok");
      }
      case "grow" -> {
        state.put(cell, Bytes.of(new byte[Integer.parseInt(words.get(2).text())]));
        return Bytes.of("ok");
      }
      case "first" -> {
        var value = state.get(cell);
        return Bytes.of(value == null ? "none" : value.toString().substring(0, 1));
      }
      case "nx" -> {
        if (state.get(cell) != null) {
          return Bytes.of("0");
        }
        state.put(cell, words.get(2));
        return Bytes.of("1");
      }
      case "copy" -> {
        var value = state.get(cell);
        if (value == null) {
          return Bytes.of("0");
        }
        state.put(Cell.ALL.child(words.get(2)), value);
        return Bytes.of("1");
      }
      case "del" -> {
        boolean there = state.get(cell) != null;
        state.clear(cell);
        return Bytes.of(there ? "1" : "0");
      }
      default -> {
        var value = state.get(cell);
        return value == null ? Bytes.of("none") : value;
      }
    }
  }

  @Override
  public Object reply(Operation operation) {
    return operation.reply() == null ? Bytes.EMPTY : operation.reply();
  }
}

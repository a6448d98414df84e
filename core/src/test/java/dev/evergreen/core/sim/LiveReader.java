package dev.evergreen.core.sim;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.spi.GrainId;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads grains.
 *
 * @param parallel whether to read several at the same time; only inside of grains and computations,
 *     elsewhere that takes threads which the simulation does not know
 * @param stalls how the node uses stalls; null if there are none
 * @param hurries whether time limits hold
 * @param sleeping how a grain waits
 */
record LiveReader(
    App app,
    @Nullable Stalls stalls,
    Grains grains,
    boolean parallel,
    boolean hurries,
    Consumer<Duration> sleeping)
    implements Reader {

  LiveReader(App app, @Nullable Stalls stalls, Grains grains, boolean parallel) {
    this(app, stalls, grains, parallel, parallel, any -> {});
  }

  LiveReader(SimNode node, App app, boolean parallel) {
    this(app, app.stallsOf(node.id().address()), node.engine().grains(), parallel);
  }

  @Override
  public long readWithin(Ref ref, long nanos) {
    // The checks' calls are patient, so that they see what there is at last.
    return hurries ? with(grains.withTimeout(Duration.ofNanos(nanos))).read(ref) : read(ref);
  }

  /** The same with other references. */
  LiveReader with(Grains others) {
    return new LiveReader(app, stalls, others, parallel, hurries, sleeping);
  }

  @Override
  public void sleep(long nanos) {
    app.callers().sleep(() -> sleeping.accept(Duration.ofNanos(nanos)));
  }

  @Override
  public long read(Ref ref) {
    return app.callers().call(() -> call(ref));
  }

  private long call(Ref ref) {
    return switch (ref) {
      case Ref.OfCell(var key, var aspect) -> readCell(key, aspect);
      case Ref.OfFormula(long key, int argument, var aspect) -> readFormula(key, argument, aspect);
      case Ref.OfStall stall -> Objects.requireNonNull(stalls).price(grains, stall);
      case Ref.OfRing(var key) -> grains.get(Ring.class, key).version();
      case Ref.OfMeter(var key) -> grains.get(Meter.class, key).reading();
      case Ref.OfCourier(var key) -> grains.get(Courier.class, key).ticks();
    };
  }

  private long readCell(String key, Ref.Aspect aspect) {
    var cell = grains.get(Cell.class, key);
    return switch (aspect) {
      case VALUE -> cell.value();
      case PARITY -> cell.parity();
      case AUDITED -> app.check(cell.audit(), new GrainId("Cell", key)).value();
    };
  }

  private long readFormula(long key, int argument, Ref.Aspect aspect) {
    try {
      return tryFormula(key, argument, aspect);
    } catch (CycleException e) {
      app.check(e);
      throw e;
    }
  }

  private long tryFormula(long key, int argument, Ref.Aspect aspect) {
    var formula = grains.get(Formula.class, key);
    return switch (aspect) {
      case VALUE -> formula.value(argument);
      case PARITY -> formula.parity(argument);
      case AUDITED ->
          app.check(formula.audit(argument), new GrainId("Formula", Long.toString(key))).value();
    };
  }

  @Override
  public List<Long> readAll(List<Ref> refs) {
    return parallel ? Parallel.map(refs, this::read) : refs.stream().map(this::read).toList();
  }
}

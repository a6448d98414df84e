package dev.evergreen.core.sim;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.ReadOnlyViolationException;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.spi.GrainId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What the grains and clients of a run share outside of the runtime under test: randomness, the
 * outside world, and the records that the properties are judged by.
 */
final class App {

  private final Scheduler scheduler;
  private final SimStorage storage;
  private final Scenario scenario;
  private final SplittableRandom random;
  private final WriteLog writes;
  private final Circles circles = new Circles();
  private final Callers callers = new Callers(this);
  private final Wiring wiring;
  private final Map<String, Long> meters = new TreeMap<>();
  private final Map<String, List<Runnable>> meterMarks = new TreeMap<>();
  private final Map<String, Integer> executions = new TreeMap<>();
  private final Map<Long, LongUnaryOperator> effects = new TreeMap<>();
  private long actions;
  private long executed;
  private boolean patient;

  App(
      Scheduler scheduler,
      SimStorage storage,
      Scenario scenario,
      Wiring wiring,
      SplittableRandom random) {
    this.scheduler = scheduler;
    this.storage = storage;
    this.scenario = scenario;
    this.random = random;
    this.writes = new WriteLog(this::violation);
    this.wiring = wiring;
    // Now, as to compile a program takes longer than a step of the run may.
    stallsOf("");
  }

  /** The grain types of this application, for the node at an address. */
  GrainTypes types(String address) {
    var stalls = stallsOf(address);
    var types =
        GrainTypes.create()
            .<String, Cell>add(Cell.class, context -> new CellGrain(context, this))
            .<Long, Formula>add(Formula.class, context -> new FormulaGrain(context, this, stalls))
            .<Courier.Key, Courier>add(
                Courier.class, context -> new CourierGrain(context, this, stalls))
            .<String, Ring>add(Ring.class, context -> new RingGrain(context, this))
            .<String, Meter>add(Meter.class, context -> new MeterGrain(context, this));
    return stalls == null ? types : types.addAll(stalls.program().types());
  }

  /** How a node uses stalls: that follows from its address. Null if there are none. */
  @Nullable Stalls stallsOf(String address) {
    if (scenario.stalls() == 0) {
      return null;
    }
    boolean older = scenario.mixed() && (address.hashCode() & 1) == 1;
    return new Stalls(older ? Versions.OLDER : Versions.NEWER);
  }

  /** From now on there is no trouble any more, and nobody but trackers is impatient. */
  void calmDown() {
    patient = true;
  }

  boolean patient() {
    return patient;
  }

  Scenario scenario() {
    return scenario;
  }

  Scheduler scheduler() {
    return scheduler;
  }

  SplittableRandom random() {
    scheduler.touchShared();
    return random;
  }

  Wiring wiring() {
    return wiring;
  }

  Callers callers() {
    return callers;
  }

  WriteLog writes() {
    scheduler.touchShared();
    return writes;
  }

  /** A number for an action that writes; it leaves room for two more inside of it. */
  long nextAction() {
    scheduler.touchShared();
    return actions += 10;
  }

  void trace(String where, String what) {
    scheduler.trace().add(scheduler.now(), where, what);
  }

  // What grains report

  /** Notes the execution of a read-only operation. */
  void executed(String grain) {
    executed++;
    executions.merge(grain, 1, Integer::sum);
  }

  /** How many read-only operations were executed, those of the checks not counted. */
  long executions() {
    return executed;
  }

  /** As {@link #executions()}, by grain; a copy. */
  Map<String, Integer> executionsByGrain() {
    scheduler.touchShared();
    return new TreeMap<>(executions);
  }

  /** A place in the application's code where others may run. */
  void noise() {
    scheduler.preemptOneIn(4);
  }

  /** Checks what an audited operation of a grain has returned, and returns it. */
  Audit check(Audit audit, GrainId grain) {
    if (audit.first() != audit.last()) {
      violation("2: a result of " + grain + " was computed from two states of it: " + audit);
    }
    if (audit.last() > storage.saves(grain)) {
      violation(
          "2: a result of "
              + grain
              + " was computed from a state that was never saved: "
              + audit
              + ", but there were "
              + storage.saves(grain)
              + " saves");
    }
    return audit;
  }

  /** Runs a write and notes what came of it. */
  long write(String grain, long action, LongSupplier call) {
    return writeNested(grain, action, false, call);
  }

  /**
   * As {@link #write}.
   *
   * @param comesBack whether another write of the same grain may be made inside of it: what that
   *     saves has the changes of both, so that this one may stay although it fails
   */
  long writeNested(String grain, long action, boolean comesBack, LongSupplier call) {
    writes().begun(action, grain);
    try {
      long version = callers.call(call::getAsLong);
      writes().acknowledged(action, version);
      trace("app", "action " + action + " made version " + version + " of " + grain);
      return version;
    } catch (RuntimeException e) {
      if (isRefusal(e) && (!comesBack || e instanceof NotStartedException)) {
        writes().refused(action);
      }
      if (e instanceof NotStartedException) {
        writes().notStarted(action);
      }
      trace("app", "action " + action + " on " + grain + ": " + Seen.failure(e));
      throw e;
    }
  }

  /** Whether an operation that failed so has certainly changed nothing. */
  private static boolean isRefusal(RuntimeException e) {
    return e instanceof NotStartedException
        || e instanceof CycleException
        || e instanceof ReadOnlyViolationException
        || e instanceof InvalidGrainException
        || e instanceof ActivationException
        || isOfOlderNode(e)
        || e instanceof Refused;
  }

  /** Whether a node refuses to save what it does not wholly know: a newer one has written it. */
  static boolean isOfOlderNode(RuntimeException e) {
    return e instanceof StateNotSavedException
        && String.valueOf(e.getMessage()).contains("nothing was saved");
  }

  /** Notes a program that a formula has, or may have. */
  void programmed(long formula, List<Step> program) {
    circles.note(formula, program);
  }

  /** Checks a circle that a read was told. */
  void check(CycleException told) {
    if (!circles.mayHaveBeen(told)) {
      violation("2: a circle is told that never was: " + told.getMessage());
    }
  }

  /** Notes what the computation of a courier shows of its state. */
  void shown(Courier.Key key, long ticks) {
    if (ticks < 0) {
      violation("2: a computation of " + key + " shows what is never saved: " + ticks);
    }
  }

  /** Notes what an action does to a cell's value. */
  void effect(long action, LongUnaryOperator effect) {
    effects.put(action, effect);
  }

  /** The value of a cell that consists of these actions. */
  long replay(List<Long> applied) {
    long value = 0;
    for (long action : applied) {
      value = Math.floorMod(effects.getOrDefault(action, v -> v).applyAsLong(value), Cell.LIMIT);
    }
    return value;
  }

  // The outside world

  long meter(String key) {
    return meters.getOrDefault(key, 0L);
  }

  /** Registers how an activation is told that its meter has changed. */
  void onMeterChange(String key, Runnable mark) {
    meterMarks.computeIfAbsent(key, any -> new ArrayList<>()).add(mark);
  }

  /** Changes a meter, then tells all activations, those that are gone as well. */
  void changeMeter(String key, long value) {
    trace("app", "meter " + key + " = " + value);
    meters.put(key, value);
    List.copyOf(meterMarks.getOrDefault(key, List.of())).forEach(Runnable::run);
  }

  /** Fails the run. */
  SimulationFailure violation(String what) {
    var failure = new SimulationFailure("violated " + what);
    scheduler.fail(failure);
    throw failure;
  }
}

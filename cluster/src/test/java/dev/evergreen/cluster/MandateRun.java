package dev.evergreen.cluster;

import dev.evergreen.cluster.MandateWorld.Faults;
import dev.evergreen.cluster.MandateWorld.Setting;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Runs seeds, maybe with a broken version. */
public final class MandateRun implements MandateTrials {

  private final LongAdder deserted = new LongAdder();

  /** Called by reflection, too. */
  public MandateRun() {}

  @Override
  public @Nullable String failure(Kind kind, long seed) {
    try {
      if (kind == Kind.FENCE) {
        FenceWorld.run(seed);
      } else if (!MandateWorld.run(setting(kind, new SplittableRandom(seed)), seed)) {
        deserted.increment();
      }
      return null;
    } catch (RuntimeException | Error e) {
      return kind + " " + seed + ": " + e.getMessage();
    }
  }

  /** How many worlds have ended so far without anybody who goes on. */
  long deserted() {
    return deserted.sum();
  }

  private static Setting setting(Kind kind, SplittableRandom random) {
    return switch (kind) {
      case FENCE -> throw new AssertionError(kind);
      case FENCED -> any(random, true, false);
      case FENCED_WITH_EVIDENCE -> any(random, true, true);
      case PINGED -> any(random, false, false);
      case PINGED_WITH_EVIDENCE -> any(random, false, true);
      case LAST_ONES_FENCED -> odd(random, true, Faults.SOME_DIE_WHILE_ONE_LEAVES);
      case LAST_ONES_PINGED -> odd(random, false, Faults.SOME_DIE_WHILE_ONE_LEAVES);
      case FEWER_REFUSED_FENCED -> odd(random, true, Faults.FEWER_THAN_HALF_ARE_REFUSED);
      case FEWER_REFUSED_PINGED -> odd(random, false, Faults.FEWER_THAN_HALF_ARE_REFUSED);
      case FEWER_STRUCK_FENCED -> odd(random, true, Faults.FEWER_THAN_HALF_ARE_STRUCK);
      case FEWER_STRUCK_PINGED -> odd(random, false, Faults.FEWER_THAN_HALF_ARE_STRUCK);
      case NEWCOMER_FENCED ->
          new Setting(1, true, random.nextBoolean(), false, true, Faults.A_NEWCOMER_IS_GIVEN_UP);
      case RARE_FENCED -> rare(random, true);
      case RARE_PINGED -> rare(random, false);
      case MANY_FENCED -> many(random, true);
      case MANY_PINGED -> many(random, false);
      case STOOD_STILL_FENCED -> few(random, true, Faults.ALL_STAND_STILL);
      case STOOD_STILL_PINGED -> few(random, false, Faults.ALL_STAND_STILL);
      case STRANGER_FENCED -> odd(random, true, Faults.A_STRANGER_COMES_BEHIND_A_CUT);
      case STRANGER_PINGED -> odd(random, false, Faults.A_STRANGER_COMES_BEHIND_A_CUT);
    };
  }

  private static Setting few(SplittableRandom random, boolean fenced, Faults faults) {
    boolean evidence = random.nextBoolean();
    return new Setting(random.nextInt(2, 6), fenced, evidence, false, true, faults);
  }

  private static Setting rare(SplittableRandom random, boolean fenced) {
    boolean evidence = random.nextBoolean();
    boolean comeAgain = random.nextBoolean();
    return new Setting(
        random.nextInt(2, 5), fenced, evidence, comeAgain, random.nextBoolean(), Faults.RARE);
  }

  /** More than each of which watches all others. */
  private static Setting many(SplittableRandom random, boolean fenced) {
    var faults = random.nextBoolean() ? Faults.ANY : Faults.RARE;
    boolean evidence = random.nextBoolean();
    return new Setting(
        random.nextInt(11, 14), fenced, evidence, random.nextBoolean(), true, faults);
  }

  private static Setting any(SplittableRandom random, boolean fenced, boolean evidence) {
    int nodes = random.nextInt(2, 6);
    boolean comeAgain = random.nextBoolean();
    return new Setting(nodes, fenced, evidence, comeAgain, random.nextBoolean(), Faults.ANY);
  }

  /** Of three or five nodes. */
  private static Setting odd(SplittableRandom random, boolean fenced, Faults faults) {
    int nodes = 3 + 2 * random.nextInt(2);
    boolean evidence = random.nextBoolean();
    return new Setting(nodes, fenced, evidence, false, true, faults);
  }
}

package dev.evergreen.bench.load;

import dev.evergreen.bench.load.Distribution.Exponential;
import dev.evergreen.bench.load.Distribution.Fixed;
import dev.evergreen.bench.load.Distribution.GeneralizedExtremeValue;
import dev.evergreen.bench.load.Distribution.GeneralizedPareto;
import dev.evergreen.bench.load.Distribution.Tabled;
import java.util.List;

/** How large keys and values are, and how requests follow each other. */
public enum Pool {
  /**
   * Facebook's ETC pool, as Atikoglu et al. published it (SIGMETRICS 2012): the parameters of
   * section 5 and, for values of less than 15 bytes, the probabilities of table 5.
   */
  ETC,

  /** Keys of 30 bytes, values of 200, and requests that know nothing of each other. */
  PLAIN,

  /** Keys of 20 bytes, values of 80, and requests as in {@link #PLAIN}: many small items. */
  SMALL;

  private static final Distribution ETC_KEYS =
      new GeneralizedExtremeValue(30.7984, 8.20449, 0.078688);

  private static final Distribution ETC_VALUES =
      new Tabled(
          List.of(
              0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023,
              0.00837, 0.00837, 0.08989, 0.00092, 0.00326, 0.01980),
          new GeneralizedPareto(15, 214.476, 0.348238));

  /** In the pool's gaps of 16.0292 µs scale; here the scale follows from the rate. */
  private static final double ETC_GAP_SHAPE = 0.154971;

  /** In bytes. */
  public Distribution keyLength() {
    return switch (this) {
      case ETC -> ETC_KEYS;
      case PLAIN -> new Fixed(30);
      case SMALL -> new Fixed(20);
    };
  }

  /** In bytes. */
  public Distribution valueLength() {
    return switch (this) {
      case ETC -> ETC_VALUES;
      case PLAIN -> new Fixed(200);
      case SMALL -> new Fixed(80);
    };
  }

  /**
   * The gaps between requests in nanoseconds.
   *
   * @param rate requests a second on average
   */
  public Distribution gaps(double rate) {
    double mean = 1e9 / rate;
    return this == ETC
        ? new GeneralizedPareto(0, mean * (1 - ETC_GAP_SHAPE), ETC_GAP_SHAPE)
        : new Exponential(mean);
  }
}

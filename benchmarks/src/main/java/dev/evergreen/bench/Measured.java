package dev.evergreen.bench;

import java.util.List;
import java.util.Map;

/** The values of variants, by round, in a unit that suits them. */
final class Measured {

  private final Map<Variant, List<Double>> values;
  private final double unit;

  /**
   * @param unit what a value is divided by
   */
  Measured(Map<Variant, List<Double>> values, double unit) {
    this.values = values;
    this.unit = unit;
  }

  List<Double> of(Variant variant) {
    var measured = values.get(variant);
    if (measured == null) {
      throw new IllegalArgumentException(variant + " was not measured");
    }
    return measured.stream().map(value -> value / unit).toList();
  }
}

package dev.evergreen.bench.load;

import java.io.Serializable;
import java.util.List;
import java.util.random.RandomGenerator;

/** A distribution of numbers, by its quantile function. */
public sealed interface Distribution extends Serializable {

  /** The number below which the share {@code u} of all numbers lies; u from 0 to less than 1. */
  double quantile(double u);

  /** Draws a number. Allocates nothing. */
  default double draw(RandomGenerator random) {
    return quantile(random.nextDouble());
  }

  /** Always the same number. */
  record Fixed(double value) implements Distribution {
    @Override
    public double quantile(double u) {
      return value;
    }
  }

  /** Every number of a range alike. */
  record Uniform(double least, double bound) implements Distribution {
    @Override
    public double quantile(double u) {
      return least + u * (bound - least);
    }
  }

  /** Gaps between events that know nothing of each other. */
  record Exponential(double mean) implements Distribution {
    @Override
    public double quantile(double u) {
      return -mean * Math.log1p(-u);
    }
  }

  /** The generalised Pareto distribution; its shape is not 0. */
  record GeneralizedPareto(double location, double scale, double shape) implements Distribution {
    @Override
    public double quantile(double u) {
      return location + scale * (Math.pow(1 - u, -shape) - 1) / shape;
    }
  }

  /** The generalised extreme value distribution; its shape is not 0. */
  record GeneralizedExtremeValue(double location, double scale, double shape)
      implements Distribution {
    @Override
    public double quantile(double u) {
      return location + scale * (Math.pow(-Math.log(u), -shape) - 1) / shape;
    }
  }

  /**
   * Whole numbers from 0 with a probability each, and another distribution for the rest.
   *
   * @param shares the probability of 0, of 1, …; together at most 1
   */
  record Tabled(List<Double> shares, Distribution rest) implements Distribution {
    @Override
    public double quantile(double u) {
      double below = 0;
      for (int value = 0; value < shares.size(); value++) {
        if (u < below + shares.get(value)) {
          return value;
        }
        below += shares.get(value);
      }
      return rest.quantile((u - below) / (1 - below));
    }
  }
}

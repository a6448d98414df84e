package dev.evergreen.bench.polymix;

import java.time.Duration;
import java.util.SplittableRandom;

/**
 * What can be asked for: a page, an image in a page, or something that stands alone.
 *
 * @param number of what stands alone or of the page
 * @param image which of the page's images it is, from 1 on; 0 if it is none
 */
record Thing(long number, int image) {
  private static final int MOST_IMAGES = 13;

  /**
   * A kind by its share of what is asked for by itself, its mean size, the share that may be kept,
   * whether its sizes are lognormal rather than exponential, and how long it stays as it is.
   *
   * <p>Of all requests 65 % are for images and 15 % for pages. A page has four images in the mean;
   * so few images are asked for by themselves.
   */
  enum Kind {
    IMAGE(0.037, 4.5, 0.8, false, Duration.ofDays(30)),
    PAGE(0.15, 8.5, 0.9, false, Duration.ofDays(7)),
    DOWNLOAD(0.005, 300, 0.95, true, Duration.ofDays(182)),
    OTHER(0.195, 25, 0.72, true, Duration.ofDays(30));

    private final double share;
    private final double kilobytes;
    private final double kept;
    private final boolean lognormal;
    private final long life;

    Kind(double share, double kilobytes, double kept, boolean lognormal, Duration life) {
      this.share = share;
      this.kilobytes = kilobytes;
      this.kept = kept;
      this.lognormal = lognormal;
      this.life = life.toSeconds();
    }

    private static Kind drawn(SplittableRandom random) {
      double drawn =
          random.nextDouble() * (IMAGE.share + PAGE.share + DOWNLOAD.share + OTHER.share);
      for (var kind : values()) {
        drawn -= kind.share;
        if (drawn < 0) {
          return kind;
        }
      }
      return OTHER;
    }
  }

  /**
   * What it is like.
   *
   * @param size in bytes
   * @param kept whether caches may keep it
   * @param images how many a page has
   * @param phase when within its life it changes, in seconds
   */
  record Nature(Kind kind, int size, boolean kept, int images, long phase) {

    /** When it was last changed, in seconds since 1970. */
    long modified(long now) {
      return now - Math.floorMod(now - phase, kind.life);
    }

    /** When it changes next. */
    long expires(long now) {
      return modified(now) + kind.life;
    }
  }

  static Thing alone(long number) {
    return new Thing(number, 0);
  }

  /** Reads what {@link #name} gave. */
  static Thing named(String name) {
    int dash = name.indexOf('-');
    return dash < 0
        ? alone(Long.parseLong(name))
        : new Thing(
            Long.parseLong(name.substring(0, dash)), Integer.parseInt(name.substring(dash + 1)));
  }

  String name() {
    return image == 0 ? Long.toString(number) : number + "-" + image;
  }

  Nature nature() {
    var random = new SplittableRandom((16 * number + image) * 0x9E3779B97F4A7C15L);
    var kind = image > 0 ? Kind.IMAGE : Kind.drawn(random);
    double size =
        kind.lognormal
            ? kind.kilobytes * Math.exp(0.8 * random.nextGaussian() - 0.32)
            : -kind.kilobytes * Math.log(1 - random.nextDouble());
    return new Nature(
        kind,
        (int) Math.max(100, 1024 * size),
        random.nextDouble() < kind.kept,
        kind == Kind.PAGE ? Zipf.draw(MOST_IMAGES, random) : 0,
        random.nextLong(kind.life));
  }
}

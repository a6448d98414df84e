package dev.evergreen.core.sim;

import dev.evergreen.core.version.Program;
import dev.evergreen.core.version.Shop;
import dev.evergreen.core.version.Stall;

/** Programs in two versions. */
final class Versions {

  static final Program OLDER_SHOP = Shop.older(Trials.CLASSES);
  static final Program NEWER_SHOP = Shop.newer(Trials.CLASSES);
  static final Program OLDER = Stall.older(Trials.CLASSES);
  static final Program NEWER = Stall.newer(Trials.CLASSES);

  private Versions() {}
}

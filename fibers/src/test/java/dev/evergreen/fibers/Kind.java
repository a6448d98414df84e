package dev.evergreen.fibers;

import dev.evergreen.fibers.Fibers.Mode;

/** The runtimes that all tests of behaviour run on. */
enum Kind {
  ONE_PROCESSOR(Mode.PROCESSORS, 1),
  TWO_PROCESSORS(Mode.PROCESSORS, 2),
  FIVE_PROCESSORS(Mode.PROCESSORS, 5),
  JDK(Mode.JDK, 1);

  private final Mode mode;
  private final int processors;

  Kind(Mode mode, int processors) {
    this.mode = mode;
    this.processors = processors;
  }

  Fibers start() {
    return Fibers.builder().name("test").mode(mode).processors(processors).start();
  }
}

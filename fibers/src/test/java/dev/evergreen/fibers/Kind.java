package dev.evergreen.fibers;

import dev.evergreen.fibers.Fibers.Io;
import dev.evergreen.fibers.Fibers.Mode;
import java.time.Duration;

/** The runtimes that all tests of behaviour run on. */
enum Kind {
  ONE_PROCESSOR(Mode.PROCESSORS, 1, Io.EPOLL),
  ONE_PROCESSOR_WITH_RING(Mode.PROCESSORS, 1, Io.IO_URING),
  TWO_PROCESSORS(Mode.PROCESSORS, 2, Io.EPOLL),
  TWO_PROCESSORS_THAT_SPIN(Mode.PROCESSORS, 2, Io.IO_URING, Duration.ofMillis(1)),
  THREE_PROCESSORS_WITH_RINGS(Mode.PROCESSORS, 3, Io.IO_URING),
  FIVE_PROCESSORS(Mode.PROCESSORS, 5, Io.EPOLL),
  JDK(Mode.JDK, 1, Io.EPOLL);

  private final Mode mode;
  private final int processors;
  private final Io io;
  private final Duration spinning;

  Kind(Mode mode, int processors, Io io) {
    this(mode, processors, io, Duration.ZERO);
  }

  Kind(Mode mode, int processors, Io io, Duration spinning) {
    this.mode = mode;
    this.processors = processors;
    this.io = io;
    this.spinning = spinning;
  }

  Fibers start() {
    return Fibers.builder()
        .name("test")
        .mode(mode)
        .processors(processors)
        .io(io)
        .spinning(spinning)
        .start();
  }
}

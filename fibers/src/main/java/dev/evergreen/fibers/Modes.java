package dev.evergreen.fibers;

import dev.evergreen.fibers.Fibers.Io;
import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Chooses the mode of a runtime. */
final class Modes {

  private static final System.Logger LOG = System.getLogger(Fibers.class.getName());
  private static final AtomicBoolean TOLD = new AtomicBoolean();
  private static final AtomicBoolean TOLD_OF_RINGS = new AtomicBoolean();

  private Modes() {}

  static Fibers start(@Nullable Mode forced, Settings settings) {
    var obstacle = forced == Mode.JDK ? "" : obstacle();
    if (forced == Mode.PROCESSORS && !obstacle.isEmpty()) {
      throw new IllegalStateException("mode PROCESSORS is not possible here: " + obstacle);
    }
    if (forced == Mode.JDK || !obstacle.isEmpty()) {
      if (forced == null && TOLD.compareAndSet(false, true)) {
        LOG.log(
            Level.WARNING,
            "fibers run on the JDK''s scheduler and sockets, slower and less fair: {0}",
            obstacle);
      }
      return new JdkFibers(settings);
    }
    try {
      return ProcessorFibers.start(possible(settings));
    } catch (IOException e) {
      throw new UncheckedIOException("the processors could not be started", e);
    }
  }

  private static Settings possible(Settings settings) {
    var obstacle = settings.io() == Io.IO_URING ? Ring.obstacle() : "";
    if (obstacle.isEmpty()) {
      return settings;
    }
    if (TOLD_OF_RINGS.compareAndSet(false, true)) {
      LOG.log(
          Level.INFO,
          "fibers send without io_uring, each reply by a system call of its own: {0}",
          obstacle);
    }
    return settings.withIo(Io.EPOLL);
  }

  /** What stands in the way of processors of our own; empty if nothing does. */
  static String obstacle() {
    if (!System.getProperty("os.name").equals("Linux")) {
      return "this system has no epoll";
    }
    if (!Modes.class.getModule().isNativeAccessEnabled()) {
      return "native access is off; start Java with --enable-native-access=ALL-UNNAMED";
    }
    return VirtualThreadHook.missing();
  }
}

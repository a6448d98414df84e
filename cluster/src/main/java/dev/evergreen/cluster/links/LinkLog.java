package dev.evergreen.cluster.links;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.lang.System.Logger.Level;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Says what others do wrong, at most one line of each kind in ten seconds, however often it
 * happens. Thread-safe.
 */
final class LinkLog {

  private static final System.Logger LOG = System.getLogger(NodeLinks.class.getName());
  private static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** What is said. */
  enum Kind {
    MALFORMED,
    UNKNOWN,
    REFUSED,
    REFUSED_BY,
    NO_ROOM,
    BROKEN,
    CERTIFICATES,
    LISTENER,
    ACCEPTING
  }

  private static final class Said {
    long at;
    long unsaid;
  }

  @GuardedBy("this")
  private final Map<Kind, Said> said = new EnumMap<>(Kind.class);

  void warn(Kind kind, Supplier<String> text) {
    warn(kind, text, null);
  }

  void warn(Kind kind, Supplier<String> text, @Nullable Throwable cause) {
    long unsaid;
    synchronized (this) {
      long now = System.nanoTime();
      var last = said.get(kind);
      if (last != null && now - last.at < EVERY_NANOS) {
        last.unsaid++;
        return;
      }
      if (last == null) {
        last = new Said();
        said.put(kind, last);
      }
      last.at = now;
      unsaid = last.unsaid;
      last.unsaid = 0;
    }
    var line = text.get() + (unsaid == 0 ? "" : " (and " + unsaid + " times the like before)");
    if (cause == null) {
      LOG.log(Level.WARNING, line);
    } else {
      LOG.log(Level.WARNING, line, cause);
    }
  }
}

package dev.evergreen.core.model;

import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.Node;
import dev.evergreen.core.ValueTooLargeException;
import dev.evergreen.core.spi.Failure;
import java.io.InterruptedIOException;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Turns exceptions into {@link Failure}s and back. Every caller gets an exception object of its
 * own. A class is used again only if it is the runtime's, the JDK's ({@code java.*}), declared by
 * an operation of the grain's interface, or of the same package as the interface; any other becomes
 * a {@link GrainFailureException}, so that no class is loaded merely because a message names it.
 */
public final class Failures {

  private static final System.Logger LOG = System.getLogger(Node.class.getName());
  private static final int MAX_CAUSES = 20;
  private static final int MAX_FRAMES = 60;

  /** Of a message; one that is larger than any link takes could not be told to another node. */
  private static final int MAX_MESSAGE = 1 << 16;

  private static final StackTraceElement[] NO_TRACE = {};
  private static final Set<String> INTERRUPTS =
      Set.of(
          CallInterruptedException.class.getName(),
          InterruptedException.class.getName(),
          InterruptedIOException.class.getName());
  private static final String OWN_PACKAGE = Node.class.getPackageName() + ".";

  private Failures() {}

  public static Failure of(Throwable thrown) {
    var chain = new ArrayList<Throwable>();
    for (Throwable t = thrown; t != null && chain.size() < MAX_CAUSES; t = cause(t)) {
      chain.add(t);
    }
    Failure failure = null;
    for (var t : chain.reversed()) {
      failure = new Failure(t.getClass().getName(), message(t), failure, frames(t));
    }
    if (failure == null) {
      throw new IllegalStateException("an exception chain has at least one member");
    }
    return failure;
  }

  /**
   * That what an application gave is no value, or too large a one.
   *
   * @param what it is, and of whom
   */
  public static GrainException refused(String what, IllegalArgumentException why) {
    return why instanceof ValueLimitException
        ? new ValueTooLargeException(
            what
                + " is too large: "
                + why.getMessage()
                + "; make it smaller, or raise NodeSettings.maxValueBytes",
            why)
        : new InvalidGrainException(what + " is no value: " + why.getMessage(), why);
  }

  /** Whether it says that a thread was interrupted, or a cause of it does. */
  public static boolean tellOfInterrupt(@Nullable Failure failure) {
    for (var f = failure; f != null; f = f.cause()) {
      if (INTERRUPTS.contains(f.type())) {
        return true;
      }
    }
    return false;
  }

  /** Class and message. */
  public static String describe(Throwable thrown) {
    var message = message(thrown);
    return message == null
        ? thrown.getClass().getName()
        : thrown.getClass().getName() + ": " + message;
  }

  /** One of many of a kind: that it fails is logged, and keeps nobody from the others. */
  public static void alone(String what, Runnable one) {
    try {
      one.run();
    } catch (Throwable e) {
      log(what, e);
    }
  }

  public static void log(String where, Throwable thrown) {
    log(where, of(thrown));
  }

  public static void log(String where, Failure failure) {
    log(() -> where + " failed: " + failure.type() + ": " + failure.message(), null);
  }

  /** Logs something with the trace of what was thrown, whatever the methods of its class do. */
  static void logTrace(String what, Throwable thrown) {
    var printable = new GrainFailureException(describe(thrown));
    printable.setStackTrace(trace(thrown));
    log(() -> what, printable);
  }

  /** A log that fails has nobody to tell, and keeps nobody from going on. */
  private static void log(Supplier<String> what, @Nullable Throwable thrown) {
    try {
      LOG.log(System.Logger.Level.WARNING, what, thrown);
    } catch (Throwable e) {
      return;
    }
  }

  /** The message; one that cannot be had must not hold up who reports it. */
  private static @Nullable String message(Throwable thrown) {
    try {
      var message = thrown.getMessage();
      return message == null || message.length() <= MAX_MESSAGE
          ? message
          : message.substring(0, MAX_MESSAGE - 1) + "…";
    } catch (Throwable e) {
      return "(its message cannot be read: " + e.getClass().getName() + ")";
    }
  }

  /** The cause; null if it cannot be had. */
  private static @Nullable Throwable cause(Throwable thrown) {
    try {
      return thrown.getCause();
    } catch (Throwable e) {
      return null;
    }
  }

  private static StackTraceElement[] trace(Throwable thrown) {
    try {
      // A class may override it to return null, against its contract.
      return Objects.requireNonNullElse(thrown.getStackTrace(), NO_TRACE);
    } catch (Throwable e) {
      return NO_TRACE;
    }
  }

  private static List<Failure.Frame> frames(Throwable thrown) {
    var frames = new ArrayList<Failure.Frame>();
    for (var e : trace(thrown)) {
      if (frames.size() == MAX_FRAMES) {
        break;
      }
      frames.add(
          new Failure.Frame(
              e.getClassName(), e.getMethodName(), e.getFileName(), e.getLineNumber()));
    }
    return List.copyOf(frames);
  }

  /**
   * A new exception object for the failure of a call, with as many causes as {@link #of} would
   * keep. Its trace is that of the operation, and below it that of the caller.
   */
  public static Exception rebuild(Failure failure, CallKey call) {
    var rebuilt = rebuild(failure, call, MAX_CAUSES);
    var caller =
        Arrays.stream(trace(rebuilt)).dropWhile(Failures::isRuntime).limit(MAX_FRAMES).toList();
    rebuilt.setStackTrace(
        Stream.concat(frames(failure), caller.stream()).toArray(StackTraceElement[]::new));
    return rebuilt;
  }

  private static Exception rebuild(Failure failure, CallKey call, int atMost) {
    var of = failure.cause();
    Exception cause = of == null || atMost == 1 ? null : rebuild(of, call, atMost - 1);
    if (of != null && cause != null) {
      cause.setStackTrace(frames(of).toArray(StackTraceElement[]::new));
    }
    var known = known(failure, cause, call.model());
    if (known != null) {
      return known;
    }
    var message = unknown(failure, call);
    return cause == null
        ? new GrainFailureException(message)
        : new GrainFailureException(message, cause);
  }

  private static String unknown(Failure failure, CallKey call) {
    return call
        + " threw "
        + failure.type()
        + (failure.message() == null ? "" : ": " + failure.message())
        + " (the class is kept if it is declared by the operation or in the package of "
        + call.model().type().getSimpleName()
        + ", and can be made from a message, a cause or nothing)";
  }

  private static Stream<StackTraceElement> frames(Failure failure) {
    return failure.trace().stream()
        .map(f -> new StackTraceElement(f.type(), f.method(), f.file(), f.line()));
  }

  /** Whether a frame is between the caller's code and here. */
  private static boolean isRuntime(StackTraceElement frame) {
    var type = frame.getClassName();
    return type.startsWith(OWN_PACKAGE)
        || type.startsWith("java.lang.reflect.")
        || type.startsWith("jdk.internal.reflect.")
        || type.startsWith("jdk.proxy")
        || type.contains("$Proxy");
  }

  private static @Nullable Exception known(
      Failure failure, @Nullable Throwable cause, GrainModel model) {
    if (!mayLoad(failure.type(), model)) {
      return null;
    }
    try {
      var type = Class.forName(failure.type(), false, model.type().getClassLoader());
      if (!Exception.class.isAssignableFrom(type)) {
        return null;
      }
      return construct(type.asSubclass(Exception.class), failure.message(), cause);
    } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
      return null;
    }
  }

  private static boolean mayLoad(String type, GrainModel model) {
    return type.startsWith("java.")
        || type.startsWith(OWN_PACKAGE)
        || packageOf(type).equals(model.type().getPackageName())
        || model.declaredExceptions().contains(type);
  }

  private static String packageOf(String type) {
    int dot = type.lastIndexOf('.');
    return dot < 0 ? "" : type.substring(0, dot);
  }

  /**
   * An exception of this class with this message, by whichever of its constructors gives it; if
   * none does, by the first that can be called.
   */
  private static Exception construct(
      Class<? extends Exception> type, @Nullable String message, @Nullable Throwable cause)
      throws ReflectiveOperationException {
    Exception nearest = null;
    for (var constructor : constructors(type, cause)) {
      var made = make(constructor, message, cause);
      var argument = Objects.equals(message(made), message) ? null : argument(made, message);
      if (argument != null) {
        made = make(constructor, argument, cause);
      }
      if (Objects.equals(message(made), message)) {
        return made;
      }
      nearest = nearest == null ? made : nearest;
    }
    if (nearest == null) {
      throw new NoSuchMethodException(type + " has no constructor that takes a message or nothing");
    }
    return nearest;
  }

  /** Those that take a message and a cause, only a message, only a cause, or nothing. */
  private static List<Constructor<?>> constructors(
      Class<? extends Exception> type, @Nullable Throwable cause) {
    var fitting = new ArrayList<Constructor<?>>();
    for (int takes = 3; takes >= 0; takes--) {
      for (var constructor : type.getDeclaredConstructors()) {
        if (takes(constructor, cause) == takes) {
          fitting.add(constructor);
        }
      }
    }
    return fitting;
  }

  private static int takes(Constructor<?> constructor, @Nullable Throwable cause) {
    var types = constructor.getParameterTypes();
    boolean message = types.length > 0 && types[0] == String.class;
    boolean last =
        types.length > 0
            && Throwable.class.isAssignableFrom(types[types.length - 1])
            && types[types.length - 1].isInstance(cause);
    int takes = (message ? 2 : 0) + (last ? 1 : 0);
    return Integer.bitCount(takes) == types.length ? takes : -1;
  }

  private static Exception make(
      Constructor<?> constructor, @Nullable String message, @Nullable Throwable cause)
      throws ReflectiveOperationException {
    constructor.trySetAccessible();
    var made =
        (Exception)
            switch (takes(constructor, cause)) {
              case 3 -> constructor.newInstance(message, cause);
              case 2 -> constructor.newInstance(message);
              case 1 -> constructor.newInstance(cause);
              default -> constructor.newInstance();
            };
    if (cause != null && cause(made) == null) {
      try {
        made.initCause(cause);
      } catch (IllegalStateException e) {
        // Its constructor has said that it has no cause: then it has none.
        return made;
      }
    }
    return made;
  }

  /**
   * What a constructor that puts words around its argument must be given for {@code message}; null
   * if that cannot be seen from what it made of {@code message} itself.
   */
  private static @Nullable String argument(Exception made, @Nullable String message) {
    var longer = message(made);
    int at = message == null || longer == null ? -1 : longer.indexOf(message);
    if (message == null || longer == null || at < 0) {
      return null;
    }
    var before = longer.substring(0, at);
    var after = longer.substring(at + message.length());
    boolean around =
        message.length() >= before.length() + after.length()
            && message.startsWith(before)
            && message.endsWith(after);
    return around ? message.substring(before.length(), message.length() - after.length()) : null;
  }
}

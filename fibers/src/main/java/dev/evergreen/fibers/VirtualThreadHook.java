package dev.evergreen.fibers;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Everything of the JDK that we use and that is not published, and nothing else: a virtual thread
 * with a scheduler of ours, the platform thread that carries the current one, and the start of the
 * JDK's own pollers. It needs {@code --add-opens java.base/java.lang=ALL-UNNAMED}.
 *
 * <p>What JDK 25 does with the scheduler (found in {@code java.lang.VirtualThread}):
 *
 * <ul>
 *   <li>Whenever the thread can go on, {@code execute} gets its continuation: always the same
 *       object, to be run on a platform thread. It does nothing if the thread cannot run after all,
 *       so that running it once too often is harmless.
 *   <li>{@code execute} is called by whoever wakes the thread: a virtual thread (pinned meanwhile,
 *       so it must not park), a carrier (after {@code Thread.yield} always, after a park when the
 *       wake-up came first), the thread "VirtualThread-unblocker" (monitors),
 *       "VirtualThread-unparker" (every timed park and sleep, since the scheduler is no
 *       ForkJoinPool), or any other.
 *   <li>A thread that yields may be run by another carrier before {@code execute} has returned.
 *   <li>A thread that blocks its carrier (in native code, a file, a class initializer) is
 *       compensated by nobody: its processor stands still until then.
 *   <li>A virtual thread that a virtual thread makes has the same scheduler object.
 * </ul>
 */
final class VirtualThreadHook {

  private static final @Nullable MethodHandle NEW_THREAD;
  private static final @Nullable MethodHandle CURRENT_CARRIER;
  private static final String MISSING;

  static {
    MethodHandle newThread = null;
    MethodHandle carrier = null;
    var missing = "";
    try {
      var lookup = MethodHandles.lookup();
      var builders = Class.forName("java.lang.ThreadBuilders");
      newThread =
          MethodHandles.privateLookupIn(builders, lookup)
              .findStatic(
                  builders,
                  "newVirtualThread",
                  MethodType.methodType(
                      Thread.class, Executor.class, String.class, int.class, Runnable.class));
      carrier =
          MethodHandles.privateLookupIn(Thread.class, lookup)
              .findStatic(
                  Thread.class, "currentCarrierThread", MethodType.methodType(Thread.class));
    } catch (ReflectiveOperationException e) {
      missing =
          "this JDK gives no scheduler to virtual threads ("
              + e.getMessage()
              + "); with a JDK 25, start it with --add-opens java.base/java.lang=ALL-UNNAMED";
    }
    NEW_THREAD = newThread;
    CURRENT_CARRIER = carrier;
    MISSING = missing;
  }

  private VirtualThreadHook() {}

  /** Says why there is no hook, or nothing if there is one. */
  static String missing() {
    return MISSING;
  }

  /** Makes a virtual thread, not started, that {@code scheduler} runs. */
  static Thread newThread(Executor scheduler, @Nullable String name, Runnable task) {
    if (NEW_THREAD == null) {
      throw new IllegalStateException(MISSING);
    }
    try {
      return (Thread) NEW_THREAD.invokeExact(scheduler, name, 0, task);
    } catch (Throwable e) {
      throw new LinkageError("the JDK's hook for schedulers of virtual threads failed", e);
    }
  }

  /** The platform thread on which the caller runs, mounted or not. */
  static Thread currentCarrier() {
    if (CURRENT_CARRIER == null) {
      return Thread.currentThread();
    }
    try {
      return (Thread) CURRENT_CARRIER.invokeExact();
    } catch (Throwable e) {
      throw new LinkageError("the JDK did not tell the current carrier", e);
    }
  }

  /**
   * Starts the JDK's own pollers on the JDK's scheduler. They are virtual threads: if a fiber were
   * the first to use a socket of the JDK, they would be fibers of its processors for ever. Must be
   * called on a platform thread.
   */
  static void startPollersOfTheJdk() {
    try {
      Class.forName("sun.nio.ch.Poller", true, null);
    } catch (ClassNotFoundException e) {
      // A JDK without that class has no such pollers.
    }
  }
}

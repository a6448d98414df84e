package dev.evergreen.settings;

import java.lang.reflect.Proxy;

/** What this process does when it is sent a signal. */
public final class Signals {

  private Signals() {}

  /**
   * Has a signal run something, instead of what it does otherwise, such as ending the JVM. The JDK
   * publishes no interface for that, but keeps this one; where it is missing the signal has the
   * effect that it always has.
   *
   * @param name without SIG
   */
  public static void on(String name, Runnable action) {
    try {
      var signal = Class.forName("sun.misc.Signal");
      var handler = Class.forName("sun.misc.SignalHandler");
      var proxy =
          Proxy.newProxyInstance(
              handler.getClassLoader(),
              new Class<?>[] {handler},
              (_, _, _) -> {
                action.run();
                return null;
              });
      signal
          .getMethod("handle", signal, handler)
          .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
    } catch (ReflectiveOperationException e) {
      System.getLogger(Signals.class.getName())
          .log(System.Logger.Level.DEBUG, "SIG" + name + " keeps its effect", e);
    }
  }
}

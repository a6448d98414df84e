package dev.evergreen.chirper;

import java.lang.reflect.Proxy;

/** What this process does when it is sent a signal. */
final class Signals {

  private Signals() {}

  /**
   * Has a signal run something instead of ending the JVM. The JDK publishes no interface for that,
   * but keeps this one; where it is missing the JVM ends as it always does, with another exit code.
   *
   * @param name without SIG
   */
  static void on(String name, Runnable action) {
    try {
      var signal = Class.forName("sun.misc.Signal");
      var handler = Class.forName("sun.misc.SignalHandler");
      var proxy =
          Proxy.newProxyInstance(
              handler.getClassLoader(),
              new Class<?>[] {handler},
              (self, method, arguments) -> {
                action.run();
                return null;
              });
      signal
          .getMethod("handle", signal, handler)
          .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
    } catch (ReflectiveOperationException e) {
      System.getLogger(Signals.class.getName())
          .log(System.Logger.Level.DEBUG, "SIG%s keeps its effect".formatted(name), e);
    }
  }
}

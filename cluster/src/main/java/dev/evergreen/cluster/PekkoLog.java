package dev.evergreen.cluster;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.event.Logging;
import org.apache.pekko.event.Logging.LogEvent;
import org.apache.pekko.stream.Materializer;
import org.jspecify.annotations.Nullable;
import scala.util.control.NoStackTrace;

/**
 * Hands Pekko's log entries to the platform's logger. Made by Pekko, by its name in the settings.
 */
public final class PekkoLog extends AbstractActor {

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(
            Logging.InitializeLogger.class,
            initialize -> getSender().tell(Logging.loggerInitialized(), getSelf()))
        .match(Logging.Error.class, event -> log(Level.ERROR, event, event.cause()))
        .match(Logging.Warning.class, event -> log(levelOf(event), event, null))
        .match(Logging.Info.class, event -> log(Level.INFO, event, null))
        .match(LogEvent.class, event -> log(Level.DEBUG, event, null))
        .build();
  }

  /** That a connection failed is said again by whoever needed it. */
  private static Level levelOf(Logging.Warning event) {
    return Materializer.class.isAssignableFrom(event.logClass()) ? Level.DEBUG : Level.WARNING;
  }

  private static void log(Level level, LogEvent event, @Nullable Throwable cause) {
    Logger logger = System.getLogger(event.logClass().getName());
    if (logger.isLoggable(level)) {
      // A stand-in of Pekko's means that there is no cause.
      boolean caused = cause != null && !(cause instanceof NoStackTrace);
      logger.log(level, String.valueOf(event.message()), caused ? cause : null);
    }
  }
}

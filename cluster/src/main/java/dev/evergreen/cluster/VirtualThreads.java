package dev.evergreen.cluster;

import com.typesafe.config.Config;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import org.apache.pekko.dispatch.DispatcherPrerequisites;
import org.apache.pekko.dispatch.ExecutorServiceConfigurator;
import org.apache.pekko.dispatch.ExecutorServiceFactory;

/**
 * Gives virtual threads to actors that block. Made by Pekko, by its name in the settings. Pekko's
 * own executor of that kind looks into the JDK, and warns where it may not.
 */
public final class VirtualThreads extends ExecutorServiceConfigurator {

  /** Called by Pekko. */
  public VirtualThreads(Config config, DispatcherPrerequisites prerequisites) {
    super(config, prerequisites);
  }

  @Override
  public ExecutorServiceFactory createExecutorServiceFactory(String id, ThreadFactory threads) {
    return Executors::newVirtualThreadPerTaskExecutor;
  }
}

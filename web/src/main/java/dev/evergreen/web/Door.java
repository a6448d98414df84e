package dev.evergreen.web;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.Executor;
import org.eclipse.jetty.io.ByteBufferPool;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SelectorManager;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.VirtualThreads;
import org.eclipse.jetty.util.thread.Scheduler;
import org.jspecify.annotations.Nullable;

/**
 * Where connections come in. A flood of them leaves the requests of the others their time: a
 * selector accepts a few, and opens them itself, before it looks for what else has come. By itself
 * Jetty accepts until nobody comes any more, and has threads open what it accepted, in front of
 * which all that comes meanwhile would wait.
 */
final class Door extends ServerConnector {

  private static final int AT_A_TIME = 8;

  private final Peers peers;

  /** Of those that had sent something before they were accepted and are not opened yet. */
  private final Map<SelectableChannel, Byte> firstBytes =
      Collections.synchronizedMap(new WeakHashMap<>());

  Door(
      Server server,
      ByteBufferPool buffers,
      int selectors,
      Peers peers,
      ConnectionFactory... factories) {
    super(server, null, null, buffers, 0, selectors, factories);
    this.peers = peers;
  }

  @Override
  protected SocketChannelEndPoint newEndPoint(
      SocketChannel channel, ManagedSelector selector, SelectionKey key) {
    return new Peer(peers, channel, selector, key, getScheduler(), firstBytes.remove(channel));
  }

  @Override
  protected SelectorManager newSelectorManager(
      Executor executor, Scheduler scheduler, int selectors) {
    return new ServerConnectorManager(executor, scheduler, selectors) {
      private final ByteBuffer one = ByteBuffer.allocateDirect(1);

      /** How many there were in a row. */
      private int looked;

      @Override
      protected @Nullable SelectableChannel doAccept(SelectableChannel server) throws IOException {
        while (looked++ < AT_A_TIME) {
          var channel = (SocketChannel) super.doAccept(server);
          if (channel == null) {
            break;
          }
          if (isThere(channel)) {
            return channel;
          }
          channel.close();
        }
        looked = 0;
        return null;
      }

      /**
       * Most of a flood has hung up before it is accepted: that costs little, if it is seen here.
       */
      private boolean isThere(SocketChannel channel) {
        try {
          channel.configureBlocking(false);
          int n = channel.read(one.clear());
          if (n > 0) {
            firstBytes.put(channel, one.get(0));
          }
          return n >= 0;
        } catch (IOException e) {
          return false;
        }
      }

      @Override
      protected void execute(Runnable task) {
        if (task instanceof ManagedSelector.SelectorUpdate) {
          // It opens what was accepted, which waits for nothing.
          task.run();
        } else if (task instanceof Closeable) {
          VirtualThreads.getExecutor(getExecutor()).execute(task);
        } else {
          super.execute(task);
        }
      }
    };
  }
}

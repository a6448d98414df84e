package dev.evergreen.bench;

import dev.evergreen.cluster.links.LinkListener;
import dev.evergreen.cluster.links.LinkSettings;
import dev.evergreen.cluster.links.NodeLinks;
import dev.evergreen.codec.Codec;
import dev.evergreen.codec.Limits;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The layers of a remote call below the core: messages over links that are like a node's own, each
 * variant with one more of the things that a call needs.
 */
final class LinkCalls implements CallPath {

  /** How much of a call there is. */
  enum Layer {
    /** The other side's reading thread answers. */
    ECHO("links"),
    /** A virtual thread is started for each call, which answers. */
    THREAD("links, a thread per call"),
    /** And arguments and results are encoded and decoded. */
    CODEC("links, a thread per call, codec");

    private final String text;

    Layer(String text) {
      this.text = text;
    }
  }

  private static final NodeId CLIENT = new NodeId("client", 1);
  private static final LinkSettings SETTINGS = LinkSettings.of("bench-links");
  private static final ValueType BYTES = Codec.create(Limits.DEFAULT).of(byte[].class);

  /** The client's end of all layers, one connection to each host. */
  static final class Client implements AutoCloseable {
    private final NodeLinks links = bind();
    private final List<NodeId> hosts;
    private final ConcurrentHashMap<Long, Waiting> pending = new ConcurrentHashMap<>();
    private final AtomicLong ids = new AtomicLong();

    Client(List<HostProcess> processes) throws IOException {
      hosts = processes.stream().map(process -> idOf(process.pid())).toList();
      links.start(
          CLIENT,
          new Quiet() {
            @Override
            public void received(NodeId from, Message message) {
              if (message instanceof Message.Reply reply) {
                answered(reply);
              }
            }
          });
      for (var process : processes) {
        links.admit(
            idOf(process.pid()),
            new InetSocketAddress(InetAddress.getLoopbackAddress(), process.linksPort()));
      }
      while (links.counts().connected() < hosts.size()) {
        LockSupport.parkNanos(1_000_000);
      }
    }

    private void answered(Message.Reply reply) {
      var waiting = pending.remove(reply.id());
      if (waiting != null) {
        waiting.answer = reply.answer();
        LockSupport.unpark(waiting.thread);
      }
    }

    @Override
    public void close() {
      links.close();
    }
  }

  private static final class Waiting {
    private final Thread thread = Thread.currentThread();
    private volatile Message.@org.jspecify.annotations.Nullable Answer answer;
  }

  private abstract static class Quiet implements LinkListener {
    @Override
    public void connected(NodeId node) {}

    @Override
    public void broken(NodeId node) {}

    @Override
    public void refused(NodeId node) {}

    @Override
    public void pinged(NodeId node, Runnable answer) {}

    @Override
    public void ponged(NodeId node, long token) {}

    @Override
    public void removedBy(NodeId node) {}
  }

  private final Client client;
  private final Layer layer;

  LinkCalls(Client client, Layer layer) {
    this.client = client;
    this.layer = layer;
  }

  private static NodeLinks bind() throws IOException {
    return NodeLinks.bind(
        SETTINGS, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), null);
  }

  private static NodeId idOf(long pid) {
    return new NodeId("host" + pid, 1);
  }

  /** Answers calls until the process ends; returns the port. */
  static int listen() throws IOException {
    var links = bind();
    links.start(
        idOf(ProcessHandle.current().pid()),
        new Quiet() {
          @Override
          public void received(NodeId from, Message message) {
            if (message instanceof Message.Call call) {
              answer(links, from, call);
            }
          }
        });
    // The client dials, so nobody asks for its address.
    links.admit(CLIENT, new InetSocketAddress(InetAddress.getLoopbackAddress(), 1));
    return links.port();
  }

  private static void answer(NodeLinks links, NodeId from, Message.Call call) {
    switch (Layer.valueOf(call.operation())) {
      case ECHO -> reply(links, from, call, new byte[RemoteEcho.ANSWER]);
      case THREAD ->
          Thread.startVirtualThread(() -> reply(links, from, call, new byte[RemoteEcho.ANSWER]));
      case CODEC ->
          Thread.startVirtualThread(
              () -> {
                BYTES.decode(call.arguments());
                reply(links, from, call, BYTES.encode(new byte[RemoteEcho.ANSWER]));
              });
    }
  }

  private static void reply(NodeLinks links, NodeId to, Message.Call call, byte[] value) {
    links.send(to, new Message.Reply(call.id(), new Message.Answer.Returned(value), 0));
  }

  @Override
  public String name() {
    return layer.text;
  }

  @Override
  public Runnable caller(int index) {
    var host = client.hosts.get(index % client.hosts.size());
    var target = new GrainId(RemoteEcho.class.getName(), "echo" + index);
    byte[] request = new byte[RemoteEcho.REQUEST];
    return () -> {
      boolean encoded = layer == Layer.CODEC;
      var answer = call(host, target, encoded ? BYTES.encode(request) : request);
      if (encoded && answer instanceof Message.Answer.Returned(var value)) {
        BYTES.decode(value);
      }
    };
  }

  private Message.Answer call(NodeId host, GrainId target, byte[] arguments) {
    long id = client.ids.incrementAndGet();
    var waiting = new Waiting();
    client.pending.put(id, waiting);
    client.links.send(
        host, new Message.Call(id, id, target, layer.name(), arguments, false, List.of(), 0, null));
    while (true) {
      var answer = waiting.answer;
      if (answer != null) {
        return answer;
      }
      LockSupport.park(this);
    }
  }

  @Override
  public void close() {}
}

package dev.evergreen.bench;

import com.typesafe.config.ConfigFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.sharding.ClusterSharding;
import org.apache.pekko.cluster.sharding.ClusterShardingSettings;
import org.apache.pekko.cluster.sharding.ShardRegion;
import org.apache.pekko.pattern.Patterns;
import org.apache.pekko.serialization.ByteBufferSerializer;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/**
 * The alternative: an entity of Pekko's cluster sharding for each grain, which is asked. Its actor
 * systems are a cluster of their own in the same processes, its messages have a serializer written
 * by hand.
 */
final class PekkoAsk implements CallPath {

  private static final String NAME = "bench-pekko";
  private static final String TYPE = "echo";
  private static final String ROLE = "hosts";
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final String CONFIG =
      """
      pekko {
        loglevel = WARNING
        actor {
          provider = cluster
          default-dispatcher.fork-join-executor.minimum-runnable = -1
          internal-dispatcher.fork-join-executor.minimum-runnable = -1
          serializers.bench = "%s"
          serialization-bindings {
            "%s" = bench
            "%s" = bench
          }
        }
        coordinated-shutdown.run-by-jvm-shutdown-hook = off
        remote.default-remote-dispatcher.fork-join-executor.minimum-runnable = -1
        remote.artery {
          transport = tcp
          canonical.hostname = "127.0.0.1"
          canonical.port = 0
        }
        cluster {
          jmx.enabled = off
          sharding.passivation.strategy = none
          sharding.remember-entities = off
        }
      }
      """
          .formatted(
              BytesSerializer.class.getName(), Question.class.getName(), Answer.class.getName());

  record Question(String entity, byte[] request) {}

  record Answer(byte[] value) {}

  /** What a grain is for us. */
  static final class Entity extends AbstractActor {
    @Override
    public Receive createReceive() {
      return receiveBuilder()
          .match(
              Question.class,
              question -> getSender().tell(new Answer(new byte[RemoteEcho.ANSWER]), getSelf()))
          .build();
    }
  }

  private static final class ByEntity extends ShardRegion.HashCodeMessageExtractor {
    ByEntity() {
      super(128);
    }

    @Override
    public String entityId(Object message) {
      return ((Question) message).entity();
    }
  }

  /** Writes the parts and their lengths, and nothing else. Pekko makes it by reflection. */
  static final class BytesSerializer extends SerializerWithStringManifest
      implements ByteBufferSerializer {

    @Override
    public int identifier() {
      return 4_711;
    }

    @Override
    public String manifest(Object message) {
      return message instanceof Question ? "q" : "a";
    }

    @Override
    public byte[] toBinary(Object message) {
      var buffer = ByteBuffer.allocate(256);
      toBinary(message, buffer);
      byte[] bytes = new byte[buffer.position()];
      buffer.flip().get(bytes);
      return bytes;
    }

    @Override
    public void toBinary(Object message, ByteBuffer to) {
      switch (message) {
        case Question(var entity, var request) -> {
          byte[] key = entity.getBytes(StandardCharsets.UTF_8);
          to.put((byte) key.length).put(key).put(request);
        }
        case Answer(var value) -> to.put(value);
        default -> throw new IllegalArgumentException("cannot write " + message);
      }
    }

    @Override
    public Object fromBinary(byte[] bytes, String manifest) {
      return fromBinary(ByteBuffer.wrap(bytes), manifest);
    }

    @Override
    public Object fromBinary(ByteBuffer from, String manifest) {
      if (manifest.equals("a")) {
        return new Answer(rest(from));
      }
      byte[] key = new byte[from.get()];
      from.get(key);
      return new Question(new String(key, StandardCharsets.UTF_8), rest(from));
    }

    private static byte[] rest(ByteBuffer from) {
      byte[] rest = new byte[from.remaining()];
      from.get(rest);
      return rest;
    }
  }

  private final ActorSystem system = system("");
  private final ActorRef region;

  /** Begins a cluster, which hosts join at {@link #address}. */
  PekkoAsk() {
    var cluster = Cluster.get(system);
    cluster.join(cluster.selfAddress());
    region = ClusterSharding.get(system).startProxy(TYPE, Optional.of(ROLE), new ByEntity());
  }

  private static ActorSystem system(String role) {
    var roles = "pekko.cluster.roles = [" + role + "]\n";
    return ActorSystem.create(NAME, ConfigFactory.load(ConfigFactory.parseString(roles + CONFIG)));
  }

  /** Where hosts join. */
  String address() {
    return Cluster.get(system).selfAddress().toString();
  }

  /** Joins a cluster and hosts entities until the process ends. */
  static void host(String address) {
    var system = system(ROLE);
    ClusterSharding.get(system)
        .start(
            TYPE,
            Props.create(Entity.class, Entity::new),
            ClusterShardingSettings.create(system).withRole(ROLE),
            new ByEntity());
    Cluster.get(system).join(org.apache.pekko.actor.AddressFromURIString.parse(address));
  }

  @Override
  public String name() {
    return "Pekko's sharded ask";
  }

  @Override
  public Runnable caller(int index) {
    var entity = "echo" + index;
    byte[] request = new byte[RemoteEcho.REQUEST];
    return () -> {
      var answer =
          Patterns.ask(region, new Question(entity, request), TIMEOUT).toCompletableFuture().join();
      if (((Answer) answer).value().length != RemoteEcho.ANSWER) {
        throw new IllegalStateException("another answer was expected");
      }
    };
  }

  @Override
  public void close() {
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().join();
  }
}

package dev.evergreen.bench;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.CompilerControl;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Calls of grains. Public and open, since JMH derives from it. */
@SuppressWarnings("NullAway.Init") // JMH calls the set-up first
public class CallBenchmark {

  private static final int GRAINS = 64;

  /** A node with its grains. */
  @State(Scope.Benchmark)
  public static class World {
    private Node node;
    private Echo[] grains;

    /** Starts the node and activates the grains. */
    @Setup
    public void start() {
      node = EmbeddedNode.builder().grain(Echo.class, Echo.EchoGrain::new).start();
      grains =
          IntStream.range(0, GRAINS)
              .mapToObj(i -> node.grains().get(Echo.class, "echo" + i))
              .toArray(Echo[]::new);
      for (var grain : grains) {
        grain.write();
      }
    }

    /** Stops the node. */
    @TearDown
    public void stop() {
      node.close();
    }
  }

  /** What belongs to one caller. */
  @State(Scope.Thread)
  public static class Caller {
    private Echo own;
    private int calls;

    /** Chooses the grain. */
    @Setup
    public void choose(World world, org.openjdk.jmh.infra.ThreadParams thread) {
      own = world.grains[thread.getThreadIndex() % GRAINS];
    }
  }

  /** A read of one grain. */
  @Benchmark
  public int read(World world) {
    return world.grains[0].read();
  }

  /** A write of one grain. */
  @Benchmark
  public int write(World world) {
    return world.grains[0].write();
  }

  /** A read of the caller's own grain. */
  @Benchmark
  public int readOwn(Caller caller) {
    return caller.own.read();
  }

  /** A write of the caller's own grain. */
  @Benchmark
  public int writeOwn(Caller caller) {
    return caller.own.write();
  }

  /** The bare hand-off to another thread and back. */
  @Benchmark
  public int handOff() {
    return HandOff.call();
  }

  /** A method call. */
  @Benchmark
  public int plain(Caller caller) {
    return count(caller);
  }

  @CompilerControl(CompilerControl.Mode.DONT_INLINE)
  private static int count(Caller caller) {
    return ++caller.calls;
  }
}

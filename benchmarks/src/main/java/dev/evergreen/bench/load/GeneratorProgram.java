package dev.evergreen.bench.load;

import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * The program of a process that makes load: it reads {@link Order}s from its standard input and
 * writes {@link Answer}s to its standard output. When its input ends, so does it.
 */
final class GeneratorProgram {

  /** What it is told. */
  sealed interface Order extends Serializable {
    /** Set all keys; answered by {@link Ready}. */
    record Fill(LoadPlan plan) implements Order {}

    /** Connect; answered by {@link Ready}. */
    record Prepare(LoadPlan plan) implements Order {}

    /** Begin at a time of {@link System#nanoTime}; answered by {@link Done}. */
    record Begin(long start) implements Order {}
  }

  /** What it says. */
  sealed interface Answer extends Serializable {
    record Ready() implements Answer {}

    record Done(LoadResult result) implements Answer {}

    record Failed(IOException reason) implements Answer {}
  }

  private @Nullable Keyspace keys;
  private @Nullable Pool pool;
  private @Nullable Generator generator;

  private GeneratorProgram() {}

  public static void main(String[] arguments) throws IOException, ClassNotFoundException {
    var program = new GeneratorProgram();
    var output = new ObjectOutputStream(new BufferedOutputStream(System.out));
    System.setOut(System.err);
    output.flush();
    try (var input = new ObjectInputStream(System.in)) {
      while (true) {
        output.writeObject(program.obey((Order) input.readObject()));
        output.reset();
        output.flush();
      }
    } catch (EOFException e) {
      return; // told to end
    }
  }

  private Answer obey(Order order) {
    try {
      switch (order) {
        case Order.Fill fill -> Generator.fill(fill.plan(), keys(fill.plan()));
        case Order.Prepare prepare ->
            generator = new Generator(prepare.plan(), keys(prepare.plan()));
        case Order.Begin begin -> {
          return new Answer.Done(run(begin.start()));
        }
      }
      return new Answer.Ready();
    } catch (IOException e) {
      return new Answer.Failed(e);
    }
  }

  private Keyspace keys(LoadPlan plan) {
    var present = keys;
    if (present == null || present.size() != plan.keys() || pool != plan.pool()) {
      if (present != null) {
        present.close();
      }
      present = new Keyspace(plan.keys(), plan.pool());
      keys = present;
      pool = plan.pool();
    }
    return present;
  }

  private LoadResult run(long start) throws IOException {
    var prepared = generator;
    generator = null;
    if (prepared == null) {
      throw new IllegalStateException("nothing was prepared");
    }
    try (prepared) {
      return prepared.run(start);
    }
  }
}

package dev.evergreen.core.sim;

import dev.evergreen.core.Parallel;
import dev.evergreen.core.spi.GrainId;
import java.util.List;
import java.util.concurrent.Callable;

/** Runs queries. */
final class Queries {

  /** The formula number of programs that belong to no formula. */
  static final long ROOT = 0;

  private Queries() {}

  /** The result of a query, as a computation or a client computes it. */
  static long run(Query query, LiveReader reader) throws Exception {
    return switch (query) {
      case Query.One(var ref) -> reader.read(ref);
      case Query.Run(var program) -> Program.run(program, ROOT, 0, reader);
      case Query.VersionOf(var cell) ->
          reader
              .app()
              .check(reader.grains().get(Cell.class, cell).audit(), new GrainId("Cell", cell))
              .last();
      case Query.FirstOf(var a, var b) -> {
        Callable<Long> readA = () -> reader.read(a);
        Callable<Long> readB = () -> reader.read(b);
        yield Parallel.first(List.of(readA, readB));
      }
      case Query.Writing(var cell) -> {
        reader.grains().get(Cell.class, cell).touch();
        yield 0;
      }
      case Query.RoughOf(var cell) -> reader.grains().get(Cell.class, cell).rough();
      case Query.TwinsOf(var ring) -> reader.grains().get(Ring.class, ring).twins().size();
      case Query.Asks(var program, var what) -> Long.parseLong(program.ask(reader.grains(), what));
      case Query.ParityOf(var ref) -> reader.read(ref);
    };
  }
}

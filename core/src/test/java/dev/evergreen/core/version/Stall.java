package dev.evergreen.core.version;

import java.nio.file.Path;

/**
 * A grain in two versions, whose writes are counted. The newer one has added a component to
 * argument, result and state: there it keeps which actions a newer node has performed.
 */
public final class Stall {

  private static final String OLD =
      """
      package shop;

      import dev.evergreen.core.*;
      import dev.evergreen.core.version.Program;
      import java.util.*;
      import java.util.stream.*;

      public final class Main implements Program {

        public record Order(long add/*, String tag*/) {}

        public record Price(long value/*, List<Long> noted*/) {}

        public record Receipt(long version, boolean noted) {}

        public record Contents(long value, long version, List<Long> applied/*, List<Long> noted*/) {}

        public interface Stall extends Grain {
          @ReadOnly Price price(Order order);
          @ReadOnly Contents contents();
          Receipt put(long action, long value);
        }

        public static final class StallGrain implements Stall {
          private final State<Contents> state;
          public StallGrain(GrainContext<String> context) {
            state = context.state(Contents.class, new Contents(0, 0, List.of()/*, null*/));
          }
          public Price price(Order order) {
            var now = state.get();
            return new Price(now.value() + order.add()/*, now.noted()*/);
          }
          public Contents contents() { return state.get(); }
          public Receipt put(long action, long value) {
            var now = state.get();
            long version = now.version() + 1;
            var applied = with(now.applied(), action);
            boolean noted = false/* | true*/;
            state.set(new Contents(value, version, applied/*, with(now.noted(), action)*/));
            return new Receipt(version, noted);
          }
          private static List<Long> with(List<Long> list, long last) {
            return Stream.concat(list == null ? Stream.of() : list.stream(), Stream.of(last)).toList();
          }
        }

        public GrainTypes types() {
          return GrainTypes.create().add(Stall.class, StallGrain::new);
        }

        public String ask(Grains grains, String what) {
          var words = what.split(" ");
          var stall = grains.get(Stall.class, words[1]);
          return switch (words[0]) {
            case "price" ->
                "" + stall.price(new Order(Long.parseLong(words[2])/*, words[3]*/)).value();
            case "put" -> {
              var receipt = stall.put(Long.parseLong(words[2]), Long.parseLong(words[3]));
              yield receipt.version() + " " + receipt.noted();
            }
            case "contents" -> {
              var now = stall.contents();
              yield now.value() + " " + now.version() + " " + text(now.applied())/*
                  + " " + text(now.noted())*/;
            }
            default -> throw new IllegalArgumentException(what);
          };
        }

        private static String text(List<Long> list) {
          return list == null
              ? "[]"
              : list.stream().map(String::valueOf).collect(Collectors.joining(",", "[", "]"));
        }
      }
      """;

  /** What is between comment marks is new. */
  private static final String NEW = OLD.replace("/*", "").replace("*/", "");

  private Stall() {}

  public static Program older(Path directory) {
    return Program.compile(directory.resolve("older-stall"), OLD);
  }

  public static Program newer(Path directory) {
    return Program.compile(directory.resolve("newer-stall"), NEW);
  }
}

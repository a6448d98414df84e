package dev.evergreen.core.version;

import java.nio.file.Path;

/**
 * A shop in versions. The newer one has added a component to the records that are argument, result
 * and state, a constant to an enum, a subtype to a sealed type, an operation, and a grain. The
 * newest one has added another component to the argument.
 */
public final class Shop {

  private static final String OLD =
      """
      package shop;

      import dev.evergreen.core.*;
      import dev.evergreen.core.version.Program;
      import java.util.*;

      public final class Main implements Program {

        public enum Kind { TOY, TOOL/*, BOOK*/ }

        public sealed interface Offer permits Plain/*, Sale*/ {}
        public record Plain(int price) implements Offer {}
        /*public record Sale(int price, int percent) implements Offer {}*/

        public record Filter(int from/*, String tag*//**, String colour**/) {}

        public record Item(String name, int count/*, List<String> colours*/) {}

        public record Level(int count, String next) {}

        public record Stock(Item first, List<Item> more, Map<String, Item> byName) {}

        public interface Shop extends Grain {
          @ReadOnly int count(Filter filter);
          @ReadOnly Item item(Filter filter);
          @ReadOnly Kind kind();
          @ReadOnly boolean sells(Kind kind);
          @ReadOnly Offer offer();
          @ReadOnly int way(Filter filter);
          void put(int count);
          void pointTo(String next);
          /*@ReadOnly int added();*/
        }

        public interface Shelf extends Grain {
          @ReadOnly Stock stock();
          void fill(String where);
        }

        public static final class ShelfGrain implements Shelf {
          private static final Item FIG = make("fig", 2);
          private final State<Stock> state;
          public ShelfGrain(GrainContext<String> context) {
            state = context.state(Stock.class, new Stock(null, List.of(), Map.of()));
          }
          public Stock stock() { return state.get(); }
          public void fill(String where) {
            state.set(
                new Stock(
                    where.equals("first") ? FIG : null,
                    where.equals("more") ? List.of(FIG, FIG) : List.of(),
                    where.equals("byName") ? Map.of("fig", FIG) : Map.of()));
          }
        }

        /*public interface Till extends Grain { @ReadOnly int sum(); }
        public static final class TillGrain implements Till {
          public int sum() { return 1; }
        }*/

        public static final class ShopGrain implements Shop {
          private final GrainContext<String> context;
          private final State<Level> level;
          public ShopGrain(GrainContext<String> context) {
            this.context = context;
            this.level = context.state(Level.class, new Level(0, ""));
          }
          private int count() { return level.get().count(); }
          public int count(Filter filter) { return filter.from() + count(); }
          public Item item(Filter filter) { return make("apple", filter.from() + count()); }
          public Kind kind() { return Kind.values()[count() % Kind.values().length]; }
          public boolean sells(Kind kind) { return true; }
          public Offer offer() {
            /*if (count() % 2 == 1) { return new Sale(count(), 10); }*/
            return new Plain(count());
          }
          public int way(Filter filter) {
            var next = level.get().next();
            int from = Integer.reverse(filter.from());
            var other = new Filter(from/*, filter.tag()*//**, "red"**/);
            return next.isEmpty() ? 0 : 1 + context.grains().get(Shop.class, next).way(other);
          }
          public void put(int count) { level.set(new Level(count, level.get().next())); }
          public void pointTo(String next) { level.set(new Level(count(), next)); }
          /*public int added() { return count(); }*/
        }

        static Item make(String name, int count) {
          return new Item(name, count/*, List.of("green")*/);
        }

        public GrainTypes types() {
          return GrainTypes.create()/*.add(Till.class, context -> new TillGrain())*/
              .add(Shop.class, ShopGrain::new).add(Shelf.class, ShelfGrain::new);
        }

        public String ask(Grains grains, String what) {
          var words = what.split(" ");
          var shop = grains.get(Shop.class, words[1]);
          var shelf = grains.get(Shelf.class, words[1]);
          var number = words.length > 2 ? words[2] : "";
          var filter = new Filter(7/*, number.isEmpty() ? null : number*//**, "blue"**/);
          return switch (words[0]) {
            case "count" -> "" + shop.count(filter);
            case "item" -> shop.item(filter).toString();
            case "kind" -> shop.kind().toString();
            case "sells" -> "" + shop.sells(Kind.valueOf(number));
            case "offer" -> shop.offer().toString();
            case "way" -> "" + shop.way(filter);
            case "far" ->
                "" + shop.way(new Filter(Integer.parseInt(number)/*, null*//**, null**/));
            case "stock" -> shelf.stock().toString();
            case "fill" -> { shelf.fill(number); yield ""; }
            case "put" -> { shop.put(Integer.parseInt(number)); yield ""; }
            case "point" -> { shop.pointTo(number); yield ""; }
            /*case "added" -> "" + shop.added();
            case "till" -> "" + grains.get(Till.class, words[1]).sum();*/
            default -> throw new IllegalArgumentException(what);
          };
        }
      }
      """;

  /** What is between comment marks is new. */
  private static final String NEW =
      OLD.replaceAll("/\\*(?!\\*)", "").replaceAll("(?<!\\*)\\*/", "");

  /** What is between marks of two stars is newer. */
  private static final String NEWEST = NEW.replace("/**", "").replace("**/", "");

  private Shop() {}

  public static Program older(Path directory) {
    return Program.compile(directory.resolve("older"), OLD);
  }

  public static Program newer(Path directory) {
    return Program.compile(directory.resolve("newer"), NEW);
  }

  public static Program newest(Path directory) {
    return Program.compile(directory.resolve("newest"), NEWEST);
  }
}

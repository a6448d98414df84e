package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.Node;
import dev.evergreen.storage.SqliteStorage;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A rolling upgrade: nodes of two versions of a program in one cluster, of which the newer one has
 * added a component to a record that is state, argument and result. Each has its own classes.
 */
@Timeout(120)
final class UpgradeTest {

  private static final String OLD =
      """
      package shop;
      import dev.evergreen.core.*;
      public interface Stock extends Grain {
        record Item(String name, int count) {}
        @ReadOnly Item item();
        Item replace(Item item);
        final class OfOneNode implements Stock {
          private final State<Item> state;
          public OfOneNode(GrainContext<String> context) {
            state = context.state(Item.class, new Item("nothing", 0));
          }
          public Item item() { return state.get(); }
          public Item replace(Item item) { var before = state.get(); state.set(item); return before; }
          public static String show(Item item) { return item.name() + " " + item.count(); }
          public static Item make(String name, int count) { return new Item(name, count); }
        }
      }
      """;

  private static final String NEW =
      OLD.replace(
              "record Item(String name, int count) {}",
              "record Item(String name, int count, java.util.List<String> colours) {}")
          .replace("new Item(\"nothing\", 0)", "new Item(\"nothing\", 0, java.util.List.of())")
          .replace(
              "return item.name() + \" \" + item.count();",
              "return item.name() + \" \" + item.count() + \" \" + item.colours();")
          .replace("new Item(name, count)", "new Item(name, count, java.util.List.of(\"green\"))");

  private final Path directory;

  UpgradeTest(@TempDir Path directory) {
    this.directory = directory;
  }

  /** One version of the program. */
  private record Version(Class<?> stock, Class<?> grain) {

    Object make(String name, int count) throws Exception {
      return call(grain.getMethod("make", String.class, int.class), null, name, count);
    }

    Object stock(Node node, String key) throws Exception {
      var get = node.grains().getClass().getMethods();
      for (var method : get) {
        if (method.getName().equals("get") && method.getParameterCount() == 2) {
          method.setAccessible(true);
          return call(method, node.grains(), stock, key);
        }
      }
      throw new NoSuchMethodException("get");
    }

    String item(Node node, String key) throws Exception {
      return show(call(stock.getMethod("item"), stock(node, key)));
    }

    void replace(Node node, String key, Object item) throws Exception {
      call(stock.getMethod("replace", item.getClass()), stock(node, key), item);
    }

    String show(Object item) {
      try {
        return (String) call(grain.getMethod("show", item.getClass()), null, item);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    private static Object call(Method method, @Nullable Object target, Object... arguments)
        throws Exception {
      return method.invoke(target, arguments);
    }
  }

  private Version compile(String name, String source) throws Exception {
    var classes = Files.createDirectory(directory.resolve(name));
    var compiler = ToolProvider.getSystemJavaCompiler();
    var file =
        new SimpleJavaFileObject(
            URI.create("string:///shop/Stock.java"), SimpleJavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    assertTrue(
        compiler
            .getTask(
                null,
                null,
                null,
                List.of(
                    "-parameters",
                    "-proc:none",
                    "-classpath",
                    System.getProperty("java.class.path"),
                    "-d",
                    classes.toString()),
                null,
                List.of(file))
            .call());
    var loader =
        new URLClassLoader(new URL[] {classes.toUri().toURL()}, UpgradeTest.class.getClassLoader());
    return new Version(loader.loadClass("shop.Stock"), loader.loadClass("shop.Stock$OfOneNode"));
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // the classes are known to their loader only
  private static ClusterNode start(Version version, SqliteStorage storage, String... seeds)
      throws Exception {
    var constructor = version.grain().getConstructor(GrainContext.class);
    Function<GrainContext, KeyedGrain> make =
        context -> {
          try {
            return (KeyedGrain) constructor.newInstance(context);
          } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
          }
        };
    var builder =
        ClusterNode.builder().name("shop").listen("127.0.0.1", 0).storage(storage).partitions(16);
    builder.grain((Class) version.stock(), (Function) make);
    if (seeds.length > 0) {
      builder.seeds(seeds);
    }
    return builder.whenFenced(reason -> {}).start();
  }

  @Test
  @SuppressWarnings("try") // the first node is closed in the middle, and again at the end
  void nodesOfTwoVersionsOfARecordWorkTogetherUntilTheOldOnesAreGone() throws Exception {
    var older = compile("older", OLD);
    var newer = compile("newer", NEW);
    try (var storage = SqliteStorage.open(directory.resolve("states.db"));
        var first = start(older, storage)) {
      for (int i = 0; i < 20; i++) {
        older.replace(first, "s" + i, older.make("apple", i));
      }
      try (var second = start(newer, storage, first.self().address())) {
        await("a share each", () -> first.ownedPartitions() == 8 && second.ownedPartitions() == 8);
        for (int i = 0; i < 20; i++) {
          // Written by the old one, wherever the grain is by now.
          assertEquals("apple " + i, older.item(first, "s" + i));
          assertTrue(newer.item(second, "s" + i).startsWith("apple " + i), "for the newer");
        }
        for (int i = 0; i < 20; i++) {
          newer.replace(second, "s" + i, newer.make("pear", i));
          assertEquals("pear " + i, older.item(first, "s" + i));
        }
        var stock = newer.stock(second, "s3");
        try (var computation =
            second.reactive(() -> newer.show(newer.stock().getMethod("item").invoke(stock)))) {
          var tracker = computation.tracker();
          assertTrue(tracker.next().startsWith("pear 3"));
          older.replace(first, "s3", older.make("plum", 4));
          assertTrue(tracker.next(Duration.ofSeconds(20)).startsWith("plum 4"));
          first.close();
          for (int i = 0; i < 20; i++) {
            newer.replace(second, "s" + i, newer.make("fig", i));
            assertEquals("fig " + i + " [green]", newer.item(second, "s" + i));
          }
          var last = tracker.next(Duration.ofSeconds(20));
          while (!last.equals("fig 3 [green]")) {
            last = tracker.next(Duration.ofSeconds(20));
          }
        }
      }
    }
  }
}

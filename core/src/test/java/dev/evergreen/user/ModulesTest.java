package dev.evergreen.user;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.codec.Codec;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.model.Models;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.work.Workers;
import dev.evergreen.settings.Settings;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.module.ModuleFinder;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program may be a module of its own, for which each of the house's jars is one. */
final class ModulesTest {

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Path SOURCES = Path.of("src", "main", "java");

  /** One class of each jar that a program with grains needs. */
  private static final List<Class<?>> NEEDED =
      List.of(
          EmbeddedNode.class,
          EngineNode.class,
          Models.class,
          Workers.class,
          NodeId.class,
          Codec.class,
          Settings.class);

  private static final String DECLARATION =
      """
      open module shop {
        requires evergreen.api;
      }
      """;

  private static final String PROGRAM =
      """
      package shop;

      import dev.evergreen.core.*;
      import java.util.List;
      import java.util.concurrent.Callable;

      public final class Shop implements Callable<String> {
        interface Shelf extends Grain {
          @ReadOnly int count();
          void put(int more);
        }

        static final class ShelfGrain implements Shelf {
          private final State<Integer> count;
          ShelfGrain(GrainContext<String> context) { count = context.state(Integer.class, 0); }
          @Override public int count() { return count.get(); }
          @Override public void put(int more) { count.set(count.get() + more); }
        }

        interface Stock extends Grain {
          @ReadOnly int total(List<String> shelves);
        }

        record StockGrain(Grains grains) implements Stock {
          @Override public int total(List<String> shelves) {
            return Parallel.map(shelves, key -> grains.get(Shelf.class, key).count()).stream()
                .mapToInt(count -> count)
                .sum();
          }
        }

        @Override public String call() throws Exception {
          try (var node =
              EmbeddedNode.builder()
                  .grain(Shelf.class, ShelfGrain::new)
                  .grain(Stock.class, context -> new StockGrain(context.grains()))
                  .start()) {
            var shelf = node.grains().get(Shelf.class, "a");
            var stock = node.grains().get(Stock.class, "all");
            try (var total = node.reactive(() -> stock.total(List.of("a", "b")));
                var results = total.tracker()) {
              int before = results.next();
              shelf.put(3);
              return before + ", " + results.next() + " in " + getClass().getModule().getName();
            }
          }
        }
      }
      """;

  @TempDir Path folder;

  @Test
  void noPackageIsInTwoJars() throws IOException {
    var modules = new TreeMap<String, Set<String>>();
    for (var module : modules()) {
      packages(module)
          .forEach(name -> modules.computeIfAbsent(name, n -> new TreeSet<>()).add(name(module)));
    }
    assertTrue(modules.containsKey("dev.evergreen.core"), "the house's packages are found");
    modules.values().removeIf(those -> those.size() == 1);
    assertEquals(Map.of(), modules, "packages in several jars");
  }

  /** All folders of modules, those of samples too. */
  private static List<Path> modules() throws IOException {
    try (var folders = Files.find(ROOT, 2, (path, a) -> Files.isDirectory(path.resolve(SOURCES)))) {
      return folders.toList();
    }
  }

  private static String name(Path module) {
    return ROOT.relativize(module).toString();
  }

  private static Set<String> packages(Path module) throws IOException {
    var sources = module.resolve(SOURCES);
    var packages = new TreeSet<String>();
    try (var files = Files.walk(sources)) {
      files
          .filter(file -> file.toString().endsWith(".java"))
          .map(file -> sources.relativize(file).getParent())
          .forEach(where -> packages.add(where.toString().replace(File.separatorChar, '.')));
    }
    return packages;
  }

  @Test
  void aProgramThatIsAModuleRuns() throws Exception {
    var jars = Files.createDirectory(folder.resolve("jars"));
    for (var type : NEEDED) {
      putJar(type, jars);
    }
    var modules = Files.createDirectory(folder.resolve("modules"));
    compile(jars, modules);
    var boot = ModuleLayer.boot();
    var configuration =
        boot.configuration()
            .resolveAndBind(ModuleFinder.of(modules, jars), ModuleFinder.of(), Set.of("shop"));
    var layer =
        boot.defineModulesWithOneLoader(configuration, ClassLoader.getPlatformClassLoader());
    var program = layer.findLoader("shop").loadClass("shop.Shop").getConstructor().newInstance();
    assertEquals("0, 3 in shop", ((Callable<?>) program).call());
  }

  /** Puts the jar of a class into a folder; the build may not have packed it yet. */
  private static void putJar(Class<?> type, Path jars) throws IOException, URISyntaxException {
    var place = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    if (Files.isDirectory(place)) {
      var jar = jars.resolve("evergreen-" + place.getParent().getParent().getFileName() + ".jar");
      run("jar", "--create", "--file", jar.toString(), "-C", place.toString(), ".");
    } else {
      Files.copy(place, jars.resolve(place.getFileName()));
    }
  }

  private void compile(Path jars, Path modules) throws IOException {
    var declaration = Files.writeString(folder.resolve("module-info.java"), DECLARATION);
    var program = Files.writeString(folder.resolve("Shop.java"), PROGRAM);
    run(
        "javac",
        "-proc:none",
        "-p",
        jars.toString(),
        "-d",
        modules.resolve("shop").toString(),
        declaration.toString(),
        program.toString());
  }

  private static void run(String tool, String... arguments) {
    var said = new StringWriter();
    var out = new PrintWriter(said);
    int code = ToolProvider.findFirst(tool).orElseThrow().run(out, out, arguments);
    assertEquals(0, code, said::toString);
  }
}

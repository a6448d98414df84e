package dev.evergreen.core.version;

import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** One version of a program. Its classes are its own, so that tests ask it by texts. */
public interface Program {

  /** What a node of this version hosts. */
  GrainTypes types();

  /**
   * Does something with its grains.
   *
   * @param what one word, and what it is about
   */
  String ask(Grains grains, String what);

  /**
   * Compiles the class {@code shop.Main}, which is a program, and what is in its source.
   *
   * @param directory for its classes; is made. If they are there already, they are only loaded
   */
  static Program compile(Path directory, String source) {
    try {
      if (!Files.exists(directory.resolve("shop").resolve("Main.class"))) {
        compileNow(directory, source);
      }
      var loader =
          new URLClassLoader(new URL[] {directory.toUri().toURL()}, Program.class.getClassLoader());
      return (Program) loader.loadClass("shop.Main").getConstructor().newInstance();
    } catch (IOException | ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void compileNow(Path directory, String source) throws IOException {
    var problems = new DiagnosticCollector<JavaFileObject>();
    var file =
        new SimpleJavaFileObject(
            URI.create("string:///shop/Main.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    Files.createDirectories(directory);
    var options =
        List.of(
            "-parameters",
            "-proc:none",
            "-classpath",
            System.getProperty("java.class.path"),
            "-d",
            directory.toString());
    boolean compiled =
        ToolProvider.getSystemJavaCompiler()
            .getTask(null, null, problems, options, null, List.of(file))
            .call();
    if (!compiled) {
      throw new IllegalArgumentException(
          String.join(
              "\n",
              problems.getDiagnostics().stream().map(d -> d.getMessage(Locale.ROOT)).toList()));
    }
  }
}

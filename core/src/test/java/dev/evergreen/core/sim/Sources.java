package dev.evergreen.core.sim;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** The source of classes, compiled anew when it is changed. */
final class Sources {

  private static final List<Path> ROOTS =
      Stream.of("core/src/main", "model/src/main", "cluster/src/main", "cluster/src/test")
          .map(place -> Path.of("..", place, "java"))
          .toList();

  private Sources() {}

  /**
   * A class, and what is nested in it, with other lines in the place of some.
   *
   * @param before must occur once
   * @return the classes by their names
   */
  static Map<String, byte[]> changed(String type, String before, String after) {
    var source = read(type);
    int place = source.indexOf(before);
    if (place < 0 || source.indexOf(before, place + 1) >= 0) {
      throw new IllegalStateException(
          "'%s' does not occur exactly once in %s".formatted(before, type));
    }
    return compile(type, source.replace(before, after));
  }

  private static String read(String type) {
    var name = type.replace('.', '/') + ".java";
    var file = ROOTS.stream().map(root -> root.resolve(name)).filter(Files::exists).findFirst();
    try {
      return Files.readString(file.orElseThrow());
    } catch (IOException e) {
      throw new UncheckedIOException("the source of " + type + " cannot be read", e);
    }
  }

  private static Map<String, byte[]> compile(String type, String source) {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var problems = new DiagnosticCollector<JavaFileObject>();
    var classes = new HashMap<String, ByteArrayOutputStream>();
    var files =
        new ForwardingJavaFileManager<JavaFileManager>(
            compiler.getStandardFileManager(problems, null, null)) {
          @Override
          public JavaFileObject getJavaFileForOutput(
              Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            return new Compiled(name, classes);
          }
        };
    var options =
        List.of("-parameters", "-proc:none", "-classpath", System.getProperty("java.class.path"));
    var task =
        compiler.getTask(null, files, problems, options, null, List.of(new Source(type, source)));
    if (!task.call()) {
      throw new IllegalStateException(
          problems.getDiagnostics().stream()
              .map(Object::toString)
              .collect(Collectors.joining("\n")));
    }
    return classes.entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, entry -> entry.getValue().toByteArray()));
  }

  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String type, String text) {
      super(URI.create("string:///" + type.replace('.', '/') + ".java"), Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }

  private static final class Compiled extends SimpleJavaFileObject {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    Compiled(String name, Map<String, ByteArrayOutputStream> classes) {
      super(URI.create("bytes:///" + name), Kind.CLASS);
      classes.put(name, bytes);
    }

    @Override
    public OutputStream openOutputStream() {
      return bytes;
    }
  }
}

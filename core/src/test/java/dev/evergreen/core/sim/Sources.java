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

/** The source of the core's classes, compiled anew when it is changed. */
final class Sources {

  private static final List<Path> ROOTS =
      Stream.of("core", "model").map(room -> Path.of("..", room, "src", "main", "java")).toList();

  private static final String CORE = "dev.evergreen.core.";

  private Sources() {}

  /** The source of a class of the core, by its name below that package. */
  static String read(String type) {
    var name = (CORE + type).replace('.', '/') + ".java";
    var file = ROOTS.stream().map(root -> root.resolve(name)).filter(Files::exists).findFirst();
    try {
      return Files.readString(file.orElseThrow());
    } catch (IOException e) {
      throw new UncheckedIOException("the source of " + type + " cannot be read", e);
    }
  }

  /** The class with this source, and what is nested in it, by such names. */
  static Map<String, byte[]> compile(String type, String source) {
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
        .collect(
            Collectors.toMap(
                entry -> entry.getKey().substring(CORE.length()),
                entry -> entry.getValue().toByteArray()));
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

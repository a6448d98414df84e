package dev.evergreen.core.sim;

import dev.evergreen.core.Grain;
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
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** The source of the core's classes, compiled anew when it is changed. */
final class Sources {

  private static final Path ROOT = Path.of("src", "main", "java");

  private Sources() {}

  /** The source of a class of the core, by its simple name. */
  static String read(String type) {
    var file = ROOT.resolve(Grain.class.getPackageName().replace('.', '/')).resolve(type + ".java");
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException("the source of " + type + " cannot be read", e);
    }
  }

  /** The class with this source, and what is nested in it, by their simple names. */
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
                entry -> entry.getKey().substring(Grain.class.getPackageName().length() + 1),
                entry -> entry.getValue().toByteArray()));
  }

  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String type, String text) {
      super(URI.create("string:///" + type + ".java"), Kind.SOURCE);
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

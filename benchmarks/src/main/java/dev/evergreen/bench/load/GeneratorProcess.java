package dev.evergreen.bench.load;

import dev.evergreen.bench.load.GeneratorProgram.Answer;
import dev.evergreen.bench.load.GeneratorProgram.Order;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.List;

/** A child process that runs {@link GeneratorProgram}. */
final class GeneratorProcess implements AutoCloseable {

  private final Process process;
  private final ObjectOutputStream output;
  private final ObjectInputStream input;

  private GeneratorProcess(Process process) throws IOException {
    this.process = process;
    output = new ObjectOutputStream(new BufferedOutputStream(process.getOutputStream()));
    output.flush();
    input = new ObjectInputStream(process.getInputStream());
  }

  /** Starts one, and waits until it can be told something. */
  static GeneratorProcess start(int core) throws IOException {
    var command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-Xmx256m",
            "-cp",
            System.getProperty("java.class.path"),
            GeneratorProgram.class.getName());
    var process =
        new ProcessBuilder(Cores.pinned(core, command)).redirectError(Redirect.INHERIT).start();
    try {
      return new GeneratorProcess(process);
    } catch (IOException e) {
      process.destroyForcibly();
      throw new IOException("a generator did not start; the reason stands above", e);
    }
  }

  long pid() {
    return process.pid();
  }

  void tell(Order order) throws IOException {
    output.writeObject(order);
    output.flush();
  }

  /** Waits for the answer. */
  Answer hear() throws IOException {
    try {
      var answer = (Answer) input.readObject();
      if (answer instanceof Answer.Failed(var reason)) {
        throw reason;
      }
      return answer;
    } catch (EOFException e) {
      throw new IOException("a generator ended; the reason stands above", e);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  Answer ask(Order order) throws IOException {
    tell(order);
    return hear();
  }

  @Override
  public void close() {
    process.destroy();
  }
}

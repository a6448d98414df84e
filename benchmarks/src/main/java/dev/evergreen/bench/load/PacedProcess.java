package dev.evergreen.bench.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/** A child process that runs {@link Paced} and measures as often as it is asked to. */
public final class PacedProcess implements AutoCloseable {

  private final Process process;
  private final BufferedReader output;

  private PacedProcess(Process process) {
    this.process = process;
    this.output = process.inputReader(StandardCharsets.US_ASCII);
  }

  /**
   * Starts one.
   *
   * @param path what is asked for, at a port of this machine
   * @param rate requests a second
   */
  public static PacedProcess start(int core, int port, String path, int connections, double rate)
      throws IOException {
    var command =
        List.of(
            ProcessHandle.current().info().command().orElse("java"),
            "-XX:+UseSerialGC",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            Paced.class.getName(),
            "" + port,
            path,
            "" + connections,
            "" + rate);
    return new PacedProcess(
        new ProcessBuilder(Cores.pinned(core, command)).redirectError(Redirect.INHERIT).start());
  }

  /**
   * What of the latencies of so many seconds was the server's, in nanoseconds: neither that a
   * request was sent late, nor that this process was not woken at once.
   */
  public Histogram measure(double seconds) throws IOException {
    var input = process.outputWriter(StandardCharsets.US_ASCII);
    input.write(seconds + "\n");
    input.flush();
    var line = output.readLine();
    if (line == null) {
      throw new IOException("the generator has ended; the reason stands above");
    }
    try {
      var bytes = ByteBuffer.wrap(Base64.getDecoder().decode(line));
      return Histogram.decodeFromCompressedByteBuffer(bytes, 0);
    } catch (DataFormatException e) {
      throw new IOException(e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}

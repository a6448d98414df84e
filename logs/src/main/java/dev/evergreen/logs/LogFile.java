package dev.evergreen.logs;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A file of lines, written some at a time. What cannot be written is lost, but counted; of a line
 * that was written in part the next one is told apart, also if that was in the file before. For one
 * thread.
 */
final class LogFile implements AutoCloseable {

  private static final FileChannel STANDARD = new FileOutputStream(FileDescriptor.out).getChannel();
  private static final int ENOUGH = 8 << 10;
  private static final byte[] END = {'\n'};

  private final WritableByteChannel channel;

  /** What the channel appends to, if it is to be looked at how that ends; else null. */
  private final @Nullable Path file;

  private final LongAdder lost;
  private final ByteArrayOutputStream lines = new ByteArrayOutputStream(2 * ENOUGH);

  private boolean begun;

  /** The last that was written is a part of a line. */
  private boolean torn;

  /**
   * One that is written to a channel.
   *
   * @param lost counts the lines that are not written as a whole
   */
  LogFile(WritableByteChannel channel, LongAdder lost) {
    this(channel, null, lost);
  }

  private LogFile(WritableByteChannel channel, @Nullable Path file, LongAdder lost) {
    this.channel = channel;
    this.file = file;
    this.lost = lost;
  }

  /** One that is appended to a file; null for the standard output, which stays open. */
  static LogFile open(@Nullable Path file, LongAdder lost) throws IOException {
    return file == null
        ? new LogFile(STANDARD, lost)
        : new LogFile(
            FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND),
            file,
            lost);
  }

  /**
   * Whether the file ends amid a line, as one does that was on a full disk, or whose process was
   * killed. A pipe or the like does not tell, nor does what may not be read.
   */
  private static boolean endsAmidLine(Path file) {
    if (!Files.isRegularFile(file)) {
      return false;
    }
    try (var written = FileChannel.open(file)) {
      var last = ByteBuffer.allocate(1);
      return written.size() > 0
          && written.read(last, written.size() - 1) == 1
          && last.get(0) != '\n';
    } catch (IOException e) {
      return false;
    }
  }

  void add(String line) {
    lines.writeBytes((line + "\n").getBytes(UTF_8));
  }

  /** Whether so much was added that it should be {@linkplain #flush written}. */
  boolean isFull() {
    return lines.size() >= ENOUGH;
  }

  void flush() throws IOException {
    var all = ByteBuffer.wrap(lines.toByteArray());
    lines.reset();
    try {
      if (!begun) {
        begun = true;
        // Not sooner: who wrote there before may have had something left.
        torn = file != null && endsAmidLine(file);
      }
      if (torn) {
        write(ByteBuffer.wrap(END));
        torn = false;
      }
      write(all);
    } finally {
      torn |= all.position() > 0 && all.get(all.position() - 1) != '\n';
      while (all.hasRemaining()) {
        lost.add(all.get() == '\n' ? 1 : 0);
      }
    }
  }

  private void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  /** Writes what was added, and closes in any case. */
  @Override
  public void close() throws IOException {
    try {
      flush();
    } finally {
      if (!channel.equals(STANDARD)) {
        channel.close();
      }
    }
  }
}

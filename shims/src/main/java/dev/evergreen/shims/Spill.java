package dev.evergreen.shims;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Bytes that wait for somebody who does not take them, first in, first out: a few in memory, more
 * in a file without a name that others could open. Not safe for several threads.
 */
final class Spill implements AutoCloseable {

  /** In bytes; what comes beyond goes to the file until all has been taken. */
  static final int IN_MEMORY = 128 << 10;

  private final Path directory;
  private final long most;
  private final ArrayDeque<byte[]> memory = new ArrayDeque<>();
  private long inMemory;
  private @Nullable FileChannel file;
  private long written;
  private long taken;

  /**
   * Empty.
   *
   * @param directory where the file is, if one is needed
   * @param most how many bytes may wait
   */
  Spill(Path directory, long most) {
    this.directory = directory;
    this.most = most;
  }

  boolean isEmpty() {
    return size() == 0;
  }

  long size() {
    return inMemory + written - taken;
  }

  /** Adds all that is in a buffer; false if there is no room for it. */
  boolean add(ByteBuffer bytes) throws IOException {
    if (size() + bytes.remaining() > most) {
      return false;
    }
    if (written == 0 && inMemory + bytes.remaining() <= IN_MEMORY) {
      var copy = new byte[bytes.remaining()];
      bytes.get(copy);
      memory.add(copy);
      inMemory += copy.length;
      return true;
    }
    var into = file;
    if (into == null) {
      into = open();
      file = into;
    }
    while (bytes.hasRemaining()) {
      written += into.write(bytes, written);
    }
    return true;
  }

  private FileChannel open() throws IOException {
    var path = Files.createTempFile(directory, "spill", "");
    try {
      return FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
    } finally {
      // The file lives on without its name until it is closed.
      Files.delete(path);
    }
  }

  /** Takes as much as a buffer has room for, from where that is now. */
  void take(ByteBuffer into) throws IOException {
    while (into.hasRemaining() && inMemory > 0) {
      var first = memory.removeFirst();
      int n = Math.min(first.length, into.remaining());
      into.put(first, 0, n);
      inMemory -= n;
      if (n < first.length) {
        memory.addFirst(java.util.Arrays.copyOfRange(first, n, first.length));
      }
    }
    var from = file;
    while (from != null && into.hasRemaining() && taken < written) {
      int n = from.read(into, taken);
      if (n < 0) {
        throw new IOException("a file of replies that wait was cut by somebody");
      }
      taken += n;
    }
    if (from != null && taken == written && written > 0) {
      from.truncate(0);
      written = 0;
      taken = 0;
    }
  }

  @Override
  public void close() throws IOException {
    memory.clear();
    inMemory = 0;
    written = 0;
    taken = 0;
    if (file != null) {
      file.close();
      file = null;
    }
  }
}

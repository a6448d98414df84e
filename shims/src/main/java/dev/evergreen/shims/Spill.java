package dev.evergreen.shims;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * Bytes that wait for somebody who does not take them, first in, first out: a few in memory, more
 * in a file without a name that others could open, which is never longer than what may wait. Not
 * safe for several threads.
 */
final class Spill implements AutoCloseable {

  /** In bytes; what comes beyond goes to the file until all has been taken. */
  static final int IN_MEMORY = 128 << 10;

  private final Path directory;
  private final long most;
  private byte[] memory = {};
  private int memoryFrom;
  private int memoryTo;
  private @Nullable FileChannel file;

  // Of all that ever went to the file and came from it: behind its last byte comes its first.
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
    return memoryTo - memoryFrom + written - taken;
  }

  /** Adds all that is in a buffer; false if there is no room for it. */
  boolean add(ByteBuffer bytes) throws IOException {
    if (size() + bytes.remaining() > most) {
      return false;
    }
    if (written == 0 && size() + bytes.remaining() <= IN_MEMORY) {
      remember(bytes);
      return true;
    }
    var into = file;
    if (into == null) {
      into = open();
      file = into;
    }
    int end = bytes.limit();
    while (bytes.position() < end) {
      bytes.limit((int) Math.min(end, bytes.position() + most - written % most));
      written += into.write(bytes, written % most);
    }
    return true;
  }

  private void remember(ByteBuffer bytes) {
    int n = bytes.remaining();
    if (memoryTo + n > memory.length) {
      int there = memoryTo - memoryFrom;
      // Half of it is free afterwards: so it is not moved for each few bytes.
      var room = 2 * (there + n) > memory.length ? new byte[2 * (there + n)] : memory;
      System.arraycopy(memory, memoryFrom, room, 0, there);
      memory = room;
      memoryFrom = 0;
      memoryTo = there;
    }
    bytes.get(memory, memoryTo, n);
    memoryTo += n;
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
    int remembered = Math.min(memoryTo - memoryFrom, into.remaining());
    into.put(memory, memoryFrom, remembered);
    memoryFrom += remembered;
    var from = file;
    int end = into.limit();
    while (from != null && into.position() < end && taken < written) {
      long n = Math.min(written - taken, most - taken % most);
      into.limit((int) Math.min(end, into.position() + n));
      int read = from.read(into, taken % most);
      if (read < 0) {
        throw new IOException("a file of replies that wait was cut by somebody");
      }
      taken += read;
    }
    into.limit(end);
    if (from != null && taken == written && written > 0) {
      from.truncate(0);
      written = 0;
      taken = 0;
    }
  }

  @Override
  public void close() throws IOException {
    memory = new byte[0];
    memoryFrom = 0;
    memoryTo = 0;
    written = 0;
    taken = 0;
    if (file != null) {
      file.close();
      file = null;
    }
  }
}

package dev.evergreen.fibers;

import dev.evergreen.kernel.Errno;
import dev.evergreen.kernel.FileCalls;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * A file that is open to be {@linkplain Connection#transferFrom sent from}. Any number of threads
 * may use it at a time. It stays the file that it was when its path is given to another one or
 * removed.
 *
 * <p>A channel of the JDK would not do: the system sends from a descriptor, which a channel does
 * not show, and nobody may close that meanwhile and have another file get its number.
 */
public final class OpenFile implements AutoCloseable {

  private final Path path;

  /** Where the system cannot be called. */
  private final @Nullable FileChannel channel;

  private final int number;

  private final UseCount uses =
      new UseCount() {
        @Override
        void giveBack() {
          if (channel != null) {
            JdkSockets.close(channel);
          } else {
            FileCalls.close(Carrier.currentScratch(), number);
          }
        }
      };

  private OpenFile(Path path, @Nullable FileChannel channel, int number) {
    this.path = path;
    this.channel = channel;
    this.number = number;
  }

  /**
   * Opens a file to be read.
   *
   * @throws IOException if it cannot be opened
   */
  public static OpenFile open(Path path) throws IOException {
    if (path.getFileSystem() == FileSystems.getDefault() && Modes.obstacle().isEmpty()) {
      int number = FileCalls.open(Carrier.currentScratch(), path.toString());
      if (number >= 0) {
        return new OpenFile(path, null, number);
      }
    }
    // Also if it failed, as the JDK tells best why.
    return new OpenFile(path, FileChannel.open(path, StandardOpenOption.READ), -1);
  }

  /** From now on {@link #number} and {@link #read} may be used, until {@link #leave}. */
  void enter() throws ClosedChannelException {
    uses.enter();
  }

  void leave() {
    uses.leave();
  }

  /** Its descriptor, or less than 0 if that is not known. */
  int number() {
    return number;
  }

  /** Reads into a buffer of native memory what is at a position; returns -1 at the end. */
  int read(ByteBuffer into, long position) throws IOException {
    if (channel != null) {
      return channel.read(into, position);
    }
    int n;
    do {
      n =
          FileCalls.readAt(
              Carrier.currentScratch(), number, MemorySegment.ofBuffer(into), position);
    } while (n == -Errno.EINTR);
    if (n < 0) {
      throw new IOException("could not read " + path + ": error number " + -n);
    }
    into.position(into.position() + n);
    return n == 0 ? -1 : n;
  }

  /** Closes it. What is being sent from it is sent nevertheless; nothing else can be. */
  @Override
  public void close() {
    if (uses.closeAndEnter() >= 0) {
      uses.leave();
    }
  }

  @Override
  public String toString() {
    return path + (uses.closed() ? " (closed)" : "");
  }
}

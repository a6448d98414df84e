package dev.evergreen.proxy.storage;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * The files of the tier on disk: all that it does to the file system goes through here. One process
 * at a time has it.
 */
class Volume implements AutoCloseable {
  private final Path directory;
  private final FileChannel lockFile;
  private final FileLock lock;

  Volume(Path directory) throws IOException {
    this.directory = Files.createDirectories(directory);
    lockFile = FileChannel.open(directory.resolve("lock"), CREATE_AND_WRITE);
    var taken = tryLock(lockFile);
    if (taken == null) {
      lockFile.close();
      throw new IOException("another process uses " + directory + "; give each its own directory");
    }
    lock = taken;
  }

  private static final StandardOpenOption[] CREATE_AND_WRITE = {
    StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE
  };

  private static @Nullable FileLock tryLock(FileChannel file) throws IOException {
    try {
      return file.tryLock();
    } catch (OverlappingFileLockException e) {
      return null;
    }
  }

  Path directory() {
    return directory;
  }

  boolean exists(String name) {
    return Files.exists(directory.resolve(name));
  }

  /** Opens a file, which is made if need be. */
  DiskFile open(String name) throws IOException {
    return new DiskFile(channel(name));
  }

  final FileChannel channel(String name) throws IOException {
    return FileChannel.open(directory.resolve(name), CREATE_AND_WRITE);
  }

  void delete(String name) throws IOException {
    Files.deleteIfExists(directory.resolve(name));
  }

  /** Puts a file in the place of another one, for good when this returns. */
  void rename(String from, String to) throws IOException {
    Files.move(
        directory.resolve(from),
        directory.resolve(to),
        StandardCopyOption.ATOMIC_MOVE,
        StandardCopyOption.REPLACE_EXISTING);
    force();
  }

  /** Makes sure that the files made so far are found after the system went down. */
  void force() throws IOException {
    try (var entries = FileChannel.open(directory, StandardOpenOption.READ)) {
      entries.force(true);
    }
  }

  @Override
  public void close() {
    try (lockFile) {
      lock.release();
    } catch (IOException e) {
      System.getLogger(Volume.class.getName())
          .log(System.Logger.Level.WARNING, "cannot unlock " + directory, e);
    }
  }

  /** A file, read and written at positions. */
  static class DiskFile implements AutoCloseable {
    private final FileChannel channel;

    DiskFile(FileChannel channel) {
      this.channel = channel;
    }

    long size() throws IOException {
      return channel.size();
    }

    /** Fills the buffer as far as the file goes. */
    void read(ByteBuffer into, long position) throws IOException {
      int begin = into.position();
      while (into.hasRemaining()) {
        if (channel.read(into, position + into.position() - begin) < 0) {
          return;
        }
      }
    }

    /** Writes all of the buffer. */
    void write(ByteBuffer from, long position) throws IOException {
      int begin = from.position();
      while (from.hasRemaining()) {
        channel.write(from, position + from.position() - begin);
      }
    }

    void truncate(long size) throws IOException {
      channel.truncate(size);
    }

    /** Returns when what was written would survive that the system goes down. */
    void force() throws IOException {
      channel.force(false);
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}

package dev.evergreen.chirper;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;

/**
 * Where Chirper keeps what shall outlive it. One process has it at a time, and may share it with
 * the nodes that it starts; while one of these is left, nobody else gets it.
 */
final class DataDirectory implements AutoCloseable {

  private static final String LOCK = "lock";
  private static final int KEY_BYTES = 32;

  // Which bytes of the lock's file stand for what; there need not be any.
  private static final long OWNED = 0;
  private static final long SHARED = 1;

  private final Path path;
  private final FileChannel lock;

  private DataDirectory(Path path, FileChannel lock) {
    this.path = path;
    this.lock = lock;
  }

  /**
   * Takes the directory, which is made if it does not exist.
   *
   * @throws IOException if it cannot be written, or another process has it
   */
  static DataDirectory open(Path path) throws IOException {
    var lock = lockFile(path);
    try {
      if (lock.tryLock(OWNED, 1, false) != null && isNotShared(lock)) {
        return new DataDirectory(path, lock);
      }
    } catch (OverlappingFileLockException e) {
      // This process has it already: the same answer as for another process.
    }
    lock.close();
    throw new IOException(
        "The data directory %s is in use by another Chirper; name another one with --data."
            .formatted(path));
  }

  private static boolean isNotShared(FileChannel lock) throws IOException {
    try (var alone = lock.tryLock(SHARED, 1, false)) {
      return alone != null;
    }
  }

  /**
   * Uses a directory that another process has taken, and keeps others from taking it.
   *
   * @throws IOException if it cannot be written, or nobody may share it at this moment
   */
  static DataDirectory share(Path path) throws IOException {
    var lock = FileChannel.open(path.resolve(LOCK), StandardOpenOption.READ);
    if (lock.tryLock(SHARED, 1, true) != null) {
      return new DataDirectory(path, lock);
    }
    lock.close();
    throw new IOException("The data directory %s is in use by another Chirper.".formatted(path));
  }

  private static FileChannel lockFile(Path path) throws IOException {
    try {
      Files.createDirectories(path);
      return FileChannel.open(
          path.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    } catch (FileSystemException e) {
      // The message of such an exception is little more than the name of the file.
      var reason =
          switch (e) {
            case FileAlreadyExistsException _ -> e.getFile() + " is no directory";
            case AccessDeniedException _ -> e.getFile() + " may not be written";
            default -> e.toString();
          };
      throw new IOException(
          "The data directory %s cannot be had: %s; name another one with --data."
              .formatted(path, reason),
          e);
    }
  }

  Path database() {
    return path.resolve("chirper.db");
  }

  /** The secret that signs sessions, made at the first time; it makes them survive a restart. */
  byte[] sessionKey() throws IOException {
    var file = path.resolve("session.key");
    try {
      var key = Files.readAllBytes(file);
      if (key.length == KEY_BYTES) {
        return key;
      }
      throw new IOException(
          "%s should have %d bytes but has %d; delete it, and everybody signs in again."
              .formatted(file, KEY_BYTES, key.length));
    } catch (NoSuchFileException e) {
      return newKey(file);
    }
  }

  private byte[] newKey(Path file) throws IOException {
    var key = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(key);
    var owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    var complete = Files.createTempFile(path, "session", ".key", owner);
    Files.write(complete, key);
    Files.move(complete, file, StandardCopyOption.ATOMIC_MOVE);
    return key;
  }

  @Override
  public void close() throws IOException {
    lock.close();
  }
}

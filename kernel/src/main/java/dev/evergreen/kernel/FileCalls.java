package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Files, and descriptors of any kind. What is not in the system's cache is waited for. */
public final class FileCalls {

  private static final int O_CLOEXEC = 0x80000;

  /** It takes more if a file is to be made. */
  private static final MethodHandle OPEN =
      CLibrary.variadic("open", 2, JAVA_INT, ADDRESS, JAVA_INT);

  private static final MethodHandle PREAD =
      CLibrary.function("pread", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle SENDFILE =
      CLibrary.function("sendfile", JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG);
  private static final MethodHandle CLOSE = CLibrary.function("close", JAVA_INT, JAVA_INT);

  private FileCalls() {}

  /** Opens a file to be read; returns its descriptor. */
  public static int open(Scratch scratch, String path) {
    try (var arena = Arena.ofConfined()) {
      return scratch.result(
          (int) OPEN.invokeExact(scratch.errno(), arena.allocateFrom(path), O_CLOEXEC));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Reads from a file at a position; 0 if it ends there or before. */
  public static int readAt(Scratch scratch, int file, MemorySegment into, long position) {
    try {
      return (int)
          scratch.result(
              (long) PREAD.invokeExact(scratch.errno(), file, into, into.byteSize(), position));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /**
   * Sends a part of a file to a socket.
   *
   * @return how many bytes were taken; 0 if the file ends at the position or before
   */
  public static int send(Scratch scratch, int socket, int file, long position, long count) {
    try {
      return (int)
          scratch.result(
              (long)
                  SENDFILE.invokeExact(
                      scratch.errno(), socket, file, scratch.position(position), count));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Closes a descriptor. Linux frees its number whatever it answers. */
  public static void close(Scratch scratch, int fd) {
    try {
      int ignored = (int) CLOSE.invokeExact(scratch.errno(), fd);
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }
}

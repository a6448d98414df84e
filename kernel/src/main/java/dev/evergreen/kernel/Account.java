package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * An account of the system's. The C library's calls change the user of all threads of the process;
 * there is no way back.
 *
 * @param name what it is called
 * @param user its number
 * @param group the number of its main group
 */
public record Account(String name, int user, int group) {

  /** The size of C's {@code struct passwd}, and the places in it, behind two pointers. */
  private static final int ENTRY_SIZE = 48;

  private static final int USER_AT = 16;
  private static final int GROUP_AT = 20;

  /** More than the texts of an entry take. */
  private static final int TEXTS_SIZE = 64 << 10;

  private static final MethodHandle FIND =
      CLibrary.function("getpwnam_r", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
  private static final MethodHandle INIT_GROUPS =
      CLibrary.function("initgroups", JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle SET_GROUP = CLibrary.function("setgid", JAVA_INT, JAVA_INT);
  private static final MethodHandle SET_USER = CLibrary.function("setuid", JAVA_INT, JAVA_INT);

  /** Whether this process may become somebody else. */
  public static boolean isRoot() throws IOException {
    return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
  }

  /**
   * Finds one.
   *
   * @throws IOException if there is none of this name
   */
  public static Account of(String name) throws IOException {
    try (var arena = Arena.ofConfined()) {
      var entry = arena.allocate(ENTRY_SIZE, 8);
      var found = arena.allocate(ADDRESS);
      Errno.check(
          -find(arena.allocateFrom(name), entry, arena.allocate(TEXTS_SIZE), found),
          "look for the user " + name);
      if (found.get(ADDRESS, 0).address() == 0) {
        throw new IOException("can't find the user " + name + " to switch to");
      }
      return new Account(name, entry.get(JAVA_INT, USER_AT), entry.get(JAVA_INT, GROUP_AT));
    }
  }

  /** Unlike the others it answers with the error number itself. */
  private static int find(
      MemorySegment name, MemorySegment entry, MemorySegment texts, MemorySegment found) {
    try {
      return (int)
          FIND.invokeExact(Scratch.ofThread().errno(), name, entry, texts, texts.byteSize(), found);
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Makes a file this account's. */
  public void own(Path file) throws IOException {
    Files.setAttribute(file, "unix:uid", user);
    Files.setAttribute(file, "unix:gid", group);
  }

  /**
   * Goes on as this account, with its groups only.
   *
   * @throws IOException if the system refuses
   */
  public void become() throws IOException {
    var scratch = Scratch.ofThread();
    check(initGroups(scratch));
    check(set(scratch, SET_GROUP, group));
    check(set(scratch, SET_USER, user));
  }

  private int initGroups(Scratch scratch) {
    try (var arena = Arena.ofConfined()) {
      return scratch.result(
          (int) INIT_GROUPS.invokeExact(scratch.errno(), arena.allocateFrom(name), group));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  private static int set(Scratch scratch, MethodHandle call, int number) {
    try {
      return scratch.result((int) call.invokeExact(scratch.errno(), number));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  private void check(int result) throws IOException {
    Errno.check(result, "become the user " + name);
  }
}

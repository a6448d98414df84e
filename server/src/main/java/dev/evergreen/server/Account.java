package dev.evergreen.server;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * An account of the system's. The C library's calls change the user of all threads of the process;
 * there is no way back.
 */
@SuppressWarnings("restricted") // The launcher allows native access, without which fibers are slow.
record Account(String name, int user, int group) {

  /** In C's {@code struct passwd}, behind two pointers. */
  private static final int USER_AT = 16;

  private static final int GROUP_AT = 20;

  /** Whether this process may become somebody else. */
  static boolean isRoot() throws IOException {
    return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
  }

  /**
   * Finds one.
   *
   * @throws IOException if there is none of this name
   */
  static Account of(String name) throws IOException {
    try (var arena = Arena.ofConfined()) {
      var entry =
          (MemorySegment) function("getpwnam", ADDRESS, ADDRESS).invoke(arena.allocateFrom(name));
      if (entry.address() == 0) {
        throw new IOException("can't find the user " + name + " to switch to");
      }
      var fields = entry.reinterpret(GROUP_AT + JAVA_INT.byteSize());
      return new Account(name, fields.get(JAVA_INT, USER_AT), fields.get(JAVA_INT, GROUP_AT));
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Makes a file this account's. */
  void own(Path file) throws IOException {
    Files.setAttribute(file, "unix:uid", user);
    Files.setAttribute(file, "unix:gid", group);
  }

  /**
   * Goes on as this account, with its groups only.
   *
   * @throws IOException if the system refuses
   */
  void become() throws IOException {
    try (var arena = Arena.ofConfined()) {
      var groups = function("initgroups", JAVA_INT, ADDRESS, JAVA_INT);
      check((int) groups.invoke(arena.allocateFrom(name), group));
      check((int) function("setgid", JAVA_INT, JAVA_INT).invoke(group));
      check((int) function("setuid", JAVA_INT, JAVA_INT).invoke(user));
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private void check(int result) throws IOException {
    if (result != 0) {
      throw new IOException("could not become the user " + name);
    }
  }

  private static MethodHandle function(
      String name, MemoryLayout result, MemoryLayout... arguments) {
    var linker = Linker.nativeLinker();
    return linker.downcallHandle(
        linker.defaultLookup().findOrThrow(name), FunctionDescriptor.of(result, arguments));
  }
}

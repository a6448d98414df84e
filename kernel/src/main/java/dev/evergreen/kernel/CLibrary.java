package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.invoke.MethodHandle;

/**
 * Finds functions of the C library. Their handles are to be kept in {@code static final} fields, as
 * only then a call through them is compiled into its caller.
 */
@SuppressWarnings("restricted") // Calling the kernel is what this room is for.
final class CLibrary {

  private static final Linker LINKER = Linker.nativeLinker();
  private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
  static final MemoryLayout ERRNO_LAYOUT = Linker.Option.captureStateLayout();
  static final long ERRNO_AT =
      ERRNO_LAYOUT.byteOffset(MemoryLayout.PathElement.groupElement("errno"));

  private CLibrary() {}

  static boolean has(String name) {
    return LINKER.defaultLookup().find(name).isPresent();
  }

  /** A function that sets the error number, which its first argument is the memory for. */
  static MethodHandle function(String name, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name), FunctionDescriptor.of(result, arguments), ERRNO);
  }

  /** Like {@link #function}, of one that takes a variable number of arguments. */
  static MethodHandle variadic(
      String name, int fixed, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(result, arguments),
        ERRNO,
        Linker.Option.firstVariadicArg(fixed));
  }

  /** A function whose error number is of no interest, so that it needs no memory for it. */
  static MethodHandle silent(String name, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name), FunctionDescriptor.of(result, arguments));
  }

  /** The C library has no functions for some calls; their number is the first argument. */
  static MethodHandle numbered(MemoryLayout... arguments) {
    var all = new MemoryLayout[arguments.length + 1];
    all[0] = JAVA_LONG;
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    return variadic("syscall", 1, JAVA_LONG, all);
  }

  /** What a call without checked exceptions cannot throw, unless it was declared wrongly. */
  static Error failed(Throwable e) {
    return new LinkageError("a system call could not be made", e);
  }
}

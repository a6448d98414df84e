/**
 * The system calls of Linux that the other rooms make, each once: of sockets ({@link
 * dev.evergreen.kernel.SocketCalls}), event polls ({@link dev.evergreen.kernel.PollCalls}),
 * io_uring ({@link dev.evergreen.kernel.RingCalls}), files ({@link
 * dev.evergreen.kernel.FileCalls}), memory ({@link dev.evergreen.kernel.MemoryCalls}) and users
 * ({@link dev.evergreen.kernel.Account}).
 *
 * <p>A call is a thin one: it needs the {@link dev.evergreen.kernel.Scratch} memory of its thread,
 * makes no objects, and throws nothing. Its result is what the kernel says, or, if that is
 * negative, a negated error number; {@link dev.evergreen.kernel.Errno#check} makes an exception of
 * it for whoever has nothing else to do about it. What may wait says so.
 *
 * <p>Memory is passed as segments, so that it cannot be freed while the kernel uses it. Elsewhere
 * than on Linux these classes cannot be loaded; and Java must allow native access ({@code
 * --enable-native-access}).
 */
@NullMarked
package dev.evergreen.kernel;

import org.jspecify.annotations.NullMarked;

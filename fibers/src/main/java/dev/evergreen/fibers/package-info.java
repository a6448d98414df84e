/**
 * Fibers: virtual threads that run sequential code per connection at the cost of an event loop.
 *
 * <p>{@link dev.evergreen.fibers.Fibers} is the runtime: a few processors, each with a queue of
 * ready fibers, a poller of sockets and timers, which help each other so that nothing that is ready
 * waits for long. {@link dev.evergreen.fibers.Listener} and {@link dev.evergreen.fibers.Connection}
 * are blocking sockets on it. Where the JDK or the system does not have what this needs, the same
 * interface runs on the JDK's own virtual threads and sockets.
 */
@NullMarked
package dev.evergreen.fibers;

import org.jspecify.annotations.NullMarked;

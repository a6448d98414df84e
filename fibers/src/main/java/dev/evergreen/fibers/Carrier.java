package dev.evergreen.fibers;

import dev.evergreen.kernel.Scratch;

/** The platform thread of a processor. Fibers that run on it find their processor by it. */
final class Carrier extends Thread {

  private final Processor processor;

  Carrier(Processor processor, String name) {
    super(null, processor, name, 0, false);
    this.processor = processor;
    setDaemon(true);
  }

  Processor processor() {
    return processor;
  }

  /**
   * The scratch memory for system calls of the current thread. Each carrier has one, used by
   * whatever runs on it: that is safe because a fiber leaves its carrier only where it waits, and
   * nothing waits between a call and reading what that left. Threads that are not ours have one
   * each.
   */
  static Scratch currentScratch() {
    return VirtualThreadHook.currentCarrier() instanceof Carrier carrier
        ? carrier.processor.scratch()
        : Scratch.ofThread();
  }
}

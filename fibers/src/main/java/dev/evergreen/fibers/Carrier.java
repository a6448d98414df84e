package dev.evergreen.fibers;

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

  Scratch scratch() {
    return processor.scratch();
  }
}

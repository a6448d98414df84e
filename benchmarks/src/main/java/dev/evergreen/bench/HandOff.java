package dev.evergreen.bench;

import java.util.concurrent.locks.LockSupport;

/**
 * The least that a call of another thread costs: a virtual thread is started, the caller parks, and
 * is unparked with the result.
 */
final class HandOff implements Runnable {

  private final Thread caller = Thread.currentThread();
  private volatile int result;

  static int call() {
    var handOff = new HandOff();
    Thread.startVirtualThread(handOff);
    while (handOff.result == 0) {
      LockSupport.park(handOff);
    }
    return handOff.result;
  }

  @Override
  public void run() {
    result = 1;
    LockSupport.unpark(caller);
  }
}

package dev.evergreen.fibers;

/**
 * Two connections in memory, each the other's peer, with the behaviour of those by sockets: for
 * tests of protocols, which can cut them at any byte.
 *
 * @param near one end
 * @param far the other end
 */
public record MemoryPair(Connection near, Connection far) implements AutoCloseable {

  /** How much may be under way in each direction by default, in bytes. */
  public static final int CAPACITY = 64 << 10;

  /** A pair for fibers of a runtime, and for any other threads. */
  public static MemoryPair of(Fibers fibers) {
    return of(fibers, CAPACITY, CAPACITY);
  }

  /**
   * A pair with small room.
   *
   * @param capacity how much may be under way in each direction, in bytes; who writes more waits
   * @param piece how many bytes one read brings at most
   */
  public static MemoryPair of(Fibers fibers, int capacity, int piece) {
    if (capacity < 1 || piece < 1) {
      throw new IllegalArgumentException(
          "room and pieces must have at least 1 byte, not " + capacity + " and " + piece);
    }
    var runtime = (FibersBase) fibers;
    var there = new Pipe(capacity, piece);
    var back = new Pipe(capacity, piece);
    var near = new MemoryConnection(runtime, back, there);
    var far = new MemoryConnection(runtime, there, back);
    return new MemoryPair(runtime.opened(near), runtime.opened(far));
  }

  /**
   * Lets only so many more bytes pass from the near end to the far one. Whoever sends what is
   * beyond them has the whole connection reset, after they have passed.
   */
  public void cutAfter(long bytes) {
    ((MemoryConnection) near).cutAfter(bytes);
  }

  /** Closes both ends. */
  @Override
  public void close() {
    near.close();
    far.close();
  }
}

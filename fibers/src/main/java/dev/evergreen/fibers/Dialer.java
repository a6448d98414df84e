package dev.evergreen.fibers;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Connects to hosts by their names. A host with several addresses is tried at one after the other,
 * those of IPv4 and IPv6 in turn, each with a head start before the next (RFC 8305); the first
 * connection that is made is taken, and the other attempts are given up.
 *
 * @param fibers whose connections they are
 * @param names where names are looked up
 * @param headStart how long one attempt goes on alone; if it fails sooner, the next begins at once
 * @param limit how long all may take together, the look-up included
 * @param options how the sockets are made
 */
public record Dialer(
    Fibers fibers, Names names, Duration headStart, Duration limit, SocketOptions options) {

  /** With the system's names, a head start of 250 ms, a limit of 10 s, and the default options. */
  public static Dialer of(Fibers fibers) {
    return new Dialer(
        fibers,
        Names.ofSystem(),
        Duration.ofMillis(250),
        Duration.ofSeconds(10),
        SocketOptions.DEFAULT);
  }

  /** The same with other names. */
  public Dialer withNames(Names others) {
    return new Dialer(fibers, others, headStart, limit, options);
  }

  /** The same with another head start. */
  public Dialer withHeadStart(Duration other) {
    return new Dialer(fibers, names, other, limit, options);
  }

  /** The same with another limit. */
  public Dialer withLimit(Duration other) {
    return new Dialer(fibers, names, headStart, other, options);
  }

  /** The same with other options. */
  public Dialer withOptions(SocketOptions others) {
    return new Dialer(fibers, names, headStart, limit, others);
  }

  /**
   * Connects to a port of a host, which may be a name or an address. Blocks the calling fiber until
   * it is done, after it has flushed what that wrote.
   *
   * @throws java.net.UnknownHostException if the name has no address
   * @throws SocketTimeoutException if it takes longer than the limit; the message says what was
   *     tried
   * @throws IOException if all addresses fail; the message says why each did
   */
  public Connection dial(String host, int port) throws IOException {
    return inTime(host + ":" + port, trials -> dialAny(host, port, trials));
  }

  /**
   * Connects to an address, like {@link #dial(String, int)}: of a UNIX socket, or of the internet;
   * if that is one of a host that is not resolved, its name is looked up.
   */
  public Connection dial(SocketAddress address) throws IOException {
    return address instanceof InetSocketAddress inet && inet.isUnresolved()
        ? dial(inet.getHostString(), inet.getPort())
        : inTime(address.toString(), trials -> dialFirst(List.of(address), trials));
  }

  private interface Work {
    Connection dial(Trials trials) throws IOException;
  }

  private Connection inTime(String target, Work work) throws IOException {
    ((FibersBase) fibers).outputs().flushAll();
    var scope = CancelScope.within(limit);
    var trials = new Trials(target);
    try {
      return scope.call(() -> work.dial(trials));
    } catch (DeadlineException e) {
      if (scope.remaining().isZero()) {
        throw trials.tooLate(limit);
      }
      throw e;
    }
  }

  private Connection dialAny(String host, int port, Trials trials) throws IOException {
    var addresses = new ArrayList<SocketAddress>();
    for (var address : inTurn(names.addresses(host))) {
      addresses.add(new InetSocketAddress(address, port));
    }
    return dialFirst(addresses, trials);
  }

  private Connection dialFirst(List<SocketAddress> addresses, Trials trials) throws IOException {
    if (addresses.size() > 1) {
      return new DialRace(this, addresses, trials).run();
    }
    var only = addresses.getFirst();
    trials.begin(only);
    try {
      return fibers.connect(only, null, options);
    } catch (DeadlineException | WaitCancelledException e) {
      throw e;
    } catch (IOException e) {
      trials.failed(only, e);
      throw trials.allFailed();
    }
  }

  /** Takes one of each family in turn, beginning with that of the first; else in the same order. */
  static List<InetAddress> inTurn(List<InetAddress> addresses) {
    boolean six = addresses.getFirst() instanceof Inet6Address;
    var first = new ArrayDeque<InetAddress>();
    var second = new ArrayDeque<InetAddress>();
    for (var address : addresses) {
      (address instanceof Inet6Address == six ? first : second).add(address);
    }
    var turns = new ArrayList<InetAddress>();
    while (!first.isEmpty() || !second.isEmpty()) {
      if (!first.isEmpty()) {
        turns.add(first.poll());
      }
      if (!second.isEmpty()) {
        turns.add(second.poll());
      }
    }
    return turns;
  }
}

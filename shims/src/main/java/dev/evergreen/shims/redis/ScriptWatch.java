package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import dev.evergreen.provenance.Bytes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Learns by MONITOR what scripts and functions carry out. Redis shows a call with the address of
 * the connection that it came by, and behind it the commands of the script, until it shows another
 * call. Nothing is known of calls while this does not listen.
 */
final class ScriptWatch extends Watch {
  private static final System.Logger LOG = System.getLogger(ScriptWatch.class.getName());
  private static final int LONGEST_LINE = 1 << 20;

  /** As much of a line as tells where the command comes from, and its name. */
  private static final int HEAD = 128;

  /** Of the calls of a connection whose replies its client did not take, and what they did. */
  private static final int MOST_BYTES = 4 << 20;

  /** Of what one of them did. */
  private static final int MOST_DONE = 1 << 20;

  /** A call takes as many at least. */
  private static final int LEAST_BYTES = 100;

  private static final byte[] PING = Identity.request("PING");
  private static final String OK = "+OK\r\n";
  private static final String OF_SCRIPT = "lua";

  /** A call that Redis has carried out. */
  private static final class Done {
    /** Null if they are too long. */
    final @Nullable List<Bytes> words;

    final List<byte[]> commands = new ArrayList<>(1);
    int bytes;
    int commandBytes;

    Done(@Nullable List<Bytes> words) {
      this.words = words;
      bytes = LEAST_BYTES + (words == null ? 0 : words.stream().mapToInt(Bytes::length).sum());
    }
  }

  /** The calls that came by one connection, and whose replies were not looked at yet. */
  final class Calls implements AutoCloseable {
    private final String address;

    // Guarded by the watch's lock.
    private final ArrayDeque<Done> done = new ArrayDeque<>(1);
    private int bytes;
    private boolean doubtful;

    private Calls(String address, boolean doubtful) {
      this.address = address;
      this.doubtful = doubtful;
    }

    /** Nobody knows any more which call is whose, until {@link #settled}. */
    void doubt() {
      lock.lock();
      try {
        done.clear();
        bytes = 0;
        doubtful = true;
      } finally {
        lock.unlock();
      }
    }

    boolean doubtful() {
      lock.lock();
      try {
        return doubtful;
      } finally {
        lock.unlock();
      }
    }

    /** Whatever was called has been replied to. What Redis does is known if it is listened to. */
    void settled() {
      lock.lock();
      try {
        done.clear();
        bytes = 0;
        doubtful = !isKnown();
      } finally {
        lock.unlock();
      }
    }

    /**
     * What the next call that was replied to has carried out.
     *
     * @param words of the call; null if they were too long to be kept
     * @param refused whether the reply is an error, so that it may never have been run
     * @return the commands, as {@link Effects} has them, or null if they are not known
     */
    byte @Nullable [] take(@Nullable List<Bytes> words, boolean refused) {
      lock.lock();
      try {
        var next = done.peekFirst();
        boolean same =
            next != null && (words == null || next.words == null || words.equals(next.words));
        if (doubtful || connection == null || (!same && !refused)) {
          doubt();
          return null;
        }
        if (next == null || !same) {
          return Effects.list(List.of());
        }
        done.removeFirst();
        bytes -= next.bytes;
        return Effects.list(next.commands);
      } finally {
        lock.unlock();
      }
    }

    /** Null if it is too much to be kept. */
    private @Nullable Done begin(@Nullable List<Bytes> words) {
      var begun = new Done(words);
      done.add(begun);
      bytes += begun.bytes;
      return isKept() ? begun : null;
    }

    /** False if it is too much to be kept. */
    private boolean add(Done call, byte[] command) {
      call.commands.add(command);
      call.bytes += command.length;
      call.commandBytes += command.length;
      bytes += command.length;
      return isKept() && call.commandBytes <= MOST_DONE;
    }

    private boolean isKept() {
      boolean kept = bytes <= MOST_BYTES;
      if (!kept) {
        doubt();
      }
      return kept;
    }

    @Override
    public void close() {
      lock.lock();
      try {
        all.remove(address, this);
      } finally {
        lock.unlock();
      }
    }
  }

  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final Condition changed = lock.newCondition();
  private final Map<String, Calls> all = new HashMap<>();
  private @Nullable Connection connection;
  private long asked;
  private long answered;

  // Of the listener: whose script the next commands are of.
  private @Nullable Calls caller;
  private @Nullable Done call;

  ScriptWatch(RedisShim shim) {
    super(shim);
  }

  @Override
  void ask(Connection made) throws IOException {
    var introduction = new ArrayList<>(shim.introduction());
    introduction.add(Identity.request("CLIENT", "INFO"));
    var told = Exchange.ask(made, introduction).getLast().text();
    var here = address(made.localAddress());
    if (!told.contains(" addr=" + here + " ")) {
      throw new IOException(
          ("MONITOR does not tell whose a script is: Redis does not know the shim by its address"
                  + " (it is reached by a UNIX socket, by an address translation, or does not"
                  + " let the shim ask CLIENT INFO): %s")
              .formatted(told.strip()));
    }
    made.write(Identity.request("MONITOR"));
    made.flush();
    // No more than that, as what is shown comes right behind it.
    var reply = ByteBuffer.allocate(OK.length());
    while (reply.hasRemaining() && made.read(reply) >= 0) {
      // the rest of it
    }
    if (!new String(reply.array(), StandardCharsets.ISO_8859_1).equals(OK)) {
      throw new IOException("Redis does not let the shim use MONITOR");
    }
    // From now on, though nobody reads it yet: clients may be let in before that.
    listensBy(made);
  }

  private static String address(SocketAddress address) {
    if (!(address instanceof InetSocketAddress inet)) {
      return "";
    }
    var host = inet.getAddress().getHostAddress();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + inet.getPort();
  }

  /** The calls of a connection to Redis from now on, until they are closed. */
  Calls of(Connection connection) throws IOException {
    var address = address(connection.localAddress());
    lock.lock();
    try {
      // Nothing was called by it yet.
      var calls = new Calls(address, this.connection == null);
      all.put(address, calls);
      return calls;
    } finally {
      lock.unlock();
    }
  }

  /** Waits until all is known of what Redis has done so far, or never will be. */
  void awaitKnown() {
    lock.lock();
    try {
      var present = connection;
      if (present == null) {
        return;
      }
      long mine = ++asked;
      present.write(PING);
      present.flush();
      while (connection == present && answered < mine) {
        changed.awaitUninterruptibly();
      }
    } catch (IOException | UncheckedIOException e) {
      // The listener learns of it, but not before somebody relies on what is known so far.
      LOG.log(Level.DEBUG, "what scripts do is not known", e);
      listensBy(null);
    } finally {
      lock.unlock();
    }
  }

  /** Whether it is listened to, and was asked once, so that nothing comes from before that. */
  private boolean isKnown() {
    return connection != null && answered > 0;
  }

  /** Something may have been missed before. */
  private void listensBy(@Nullable Connection present) {
    lock.lock();
    try {
      connection = present;
      asked = 0;
      answered = 0;
      caller = null;
      call = null;
      all.values().forEach(Calls::doubt);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  void beginsAgain() {
    // All calls are in doubt until it listens.
  }

  @Override
  void listen(Connection present) throws IOException {
    try {
      readLines(present);
    } finally {
      listensBy(null);
    }
  }

  private void readLines(Connection present) throws IOException {
    var buffer = ByteBuffer.allocate(1 << 16);
    var line = new ByteArrayOutputStream();
    while (present.read(buffer.clear()) >= 0) {
      int from = 0;
      for (int i = 0; i < buffer.position(); i++) {
        if (buffer.get(i) == '\n') {
          keep(line, buffer.array(), from, i + 1);
          take(line);
          line.reset();
          from = i + 1;
        }
      }
      keep(line, buffer.array(), from, buffer.position());
    }
  }

  /** No more than is looked at, and a byte that tells that there was more. */
  private static void keep(ByteArrayOutputStream line, byte[] bytes, int from, int to) {
    line.write(bytes, from, Math.min(to - from, LONGEST_LINE + 1 - line.size()));
  }

  private void take(ByteArrayOutputStream shown) {
    var line = shown.toByteArray();
    var head = new String(line, 0, Math.min(line.length, HEAD), StandardCharsets.ISO_8859_1);
    int begin = head.indexOf('[');
    int space = head.indexOf(' ', Math.max(begin, 0));
    int end = head.indexOf("] \"");
    lock.lock();
    try {
      if (head.length() < 2 || !Character.isDigit(head.charAt(1))) {
        // To what was asked: that, or an error.
        answered++;
        changed.signalAll();
      } else if (begin > 0 && begin < space && space < end) {
        var origin = head.substring(space + 1, end);
        if (origin.equals(OF_SCRIPT)) {
          if (caller != null && call != null) {
            take(caller, call, head.substring(begin + 1, space), words(line, end + 2));
          }
        } else if (isCall(head, end + 3)) {
          // Anything else may be what Redis lets others do while a script is slow.
          caller = all.get(origin);
          call = caller == null ? null : caller.begin(words(line, end + 2));
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whether the command's name, which begins there and ends with a quote, is one of a call. */
  private boolean isCall(String head, int from) {
    int to = head.indexOf('"', from);
    return to > 0
        && Scripts.isCall(
            shim.names.ownIfKnown(List.of(Inline.ascii(head.substring(from, to)))).stream()
                .map(Bytes::of)
                .toList());
  }

  /** Null if there are too many. */
  private static @Nullable List<Bytes> words(byte[] line, int from) {
    return line.length > LONGEST_LINE
        ? null
        : Inline.split(ByteBuffer.wrap(line), from, line.length)
            .map(words -> words.stream().map(Bytes::of).toList())
            .orElse(null);
  }

  private void take(Calls caller, Done call, String database, @Nullable List<Bytes> words) {
    if (words == null || !caller.add(call, Effects.list(recorded(database, words)))) {
      caller.doubt();
      this.call = null;
    } else {
      tellPassing(words);
    }
  }

  /** As bulks, without what must not be on record. */
  private List<byte[]> recorded(String database, List<Bytes> words) {
    var all = new ArrayList<byte[]>();
    all.add(bulk(Inline.ascii(database)));
    var own = shim.names.ownIfKnown(words.stream().map(Bytes::toArray).toList());
    shim.redaction.clean(own).stream().map(ScriptWatch::bulk).forEach(all::add);
    return all;
  }

  private static byte[] bulk(byte[] word) {
    return Inline.join(
        Inline.ascii("$" + word.length + "\r\n"), Inline.join(word, Inline.ascii("\r\n")));
  }

  /** What scripts write is not from outside. */
  private void tellPassing(List<Bytes> words) {
    var passing = shim.tape.passing();
    if (passing != null) {
      var request = Resp.write(words);
      passing.passes(ByteBuffer.wrap(request), 0, request.length);
    }
  }
}

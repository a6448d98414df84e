package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import dev.evergreen.shims.Upstream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Finds out when a Redis will do nothing more of what recorders have sent that have ended. That can
 * only come by their connections. Each of these was answered before anything was sent by it that is
 * on record: so Redis had taken it, and has it in its list of clients until nothing of it is left;
 * and its number there is below that of any connection that was made after its recorder had ended.
 * So nothing is left when all connections are gone that have a lower number than the first one of
 * this recorder.
 *
 * <p>The link to a replica, or to a master, is none of a recorder's. To be used by one thread at a
 * time.
 */
final class Leftovers {
  private static final System.Logger LOG = System.getLogger(Leftovers.class.getName());
  private static final Pattern NUMBER = Pattern.compile(":([0-9]{1,18})\r\n");
  private static final Pattern CLIENT = Pattern.compile("(?m)^id=([0-9]{1,18}) .*? flags=(\\S+)");

  /** Room for the list of more clients than a Redis has by default. */
  private static final int LONGEST_LIST = 16 << 20;

  /** Where a recorder was killed just before, Redis needs a moment to see that. */
  private static final Duration AT_START = Duration.ofMillis(400);

  private static final Duration MOMENT = Duration.ofMillis(20);
  private static final Duration SHORTEST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final RedisShim shim;

  /** Of each process the number of this recorder's first connection to it. */
  private final Map<String, Long> own = new HashMap<>();

  /** The processes that have nothing left. */
  private final Set<String> free = new HashSet<>();

  /** The process that may have something left; empty for none, or if it does not tell. */
  private String process = "";

  private Duration pause = SHORTEST_PAUSE;
  private long nextNanos;

  Leftovers(RedisShim shim) {
    this.shim = shim;
  }

  /**
   * Looks what is left at a process, before its epoch is on record.
   *
   * @param made this recorder's first connection to it, if it was not met before
   * @param start whether no client was let in yet, so that it may be waited for a moment
   */
  void meet(Connection made, String met, boolean start) throws IOException {
    process = "";
    if (!shim.tape.hasFormer() || met.isEmpty() || free.contains(met)) {
      return;
    }
    if (!own.containsKey(met)) {
      var reply = Exchange.ask(made, List.of(Identity.request("CLIENT", "ID"))).getFirst();
      var number = NUMBER.matcher(reply.text());
      if (!number.matches()) {
        return;
      }
      own.put(met, Long.parseLong(number.group(1)));
    }
    process = met;
    long begun = System.nanoTime();
    look();
    while (start && !process.isEmpty() && System.nanoTime() - begun < AT_START.toNanos()) {
      shim.sleep(MOMENT);
      look();
    }
    pause = SHORTEST_PAUSE;
    nextNanos = System.nanoTime() + pause.toNanos();
  }

  /** Looks again, now and then: less often the longer somebody is there. */
  void meetAgain() {
    if (!process.isEmpty() && System.nanoTime() - nextNanos >= 0) {
      look();
      var twice = pause.multipliedBy(2);
      pause = twice.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : twice;
      nextNanos = System.nanoTime() + pause.toNanos();
    }
  }

  private void look() {
    boolean over = false;
    try {
      over = isOver();
    } catch (IOException | UncheckedIOException e) {
      LOG.log(Level.DEBUG, "it is not known what is left", e);
    }
    if (over) {
      shim.tape.formerIsOver(process);
      free.add(process);
      process = "";
    }
  }

  /**
   * By a connection of its own, as the list may be long. Who waits here does not see meanwhile that
   * the store has gone: so that must not take long. What a replica follows may have something left.
   */
  private boolean isOver() throws IOException {
    var upstream = shim.upstream;
    var dialer = upstream.dialer().withLimit(PATIENCE);
    try (var made = new Upstream(dialer, upstream.address(), upstream.tls()).connect()) {
      made.readTimeout(PATIENCE);
      var requests = new ArrayList<>(shim.introduction());
      requests.add(Identity.request("INFO", "server"));
      requests.add(Identity.request("INFO", "replication"));
      var replies = Exchange.ask(made, requests);
      var role = ServerWatch.field(replies.removeLast().text(), "role");
      var server = replies.removeLast().text();
      if (!process.equals(ServerWatch.field(server, "run_id")) || !role.equals("master")) {
        return false;
      }
      var list = Exchange.askLong(made, Identity.request("CLIENT", "LIST"), LONGEST_LIST);
      if (list.text().startsWith("-NOPERM")) {
        // Each time it would be in the log of what was refused.
        process = "";
        return false;
      }
      return !isOlderThere(list.text(), own.getOrDefault(process, 0L));
    }
  }

  private static boolean isOlderThere(String list, long number) {
    // An empty list, or one in another form, tells nothing: who asks is in it.
    boolean any = false;
    boolean older = false;
    for (var client = CLIENT.matcher(list); client.find(); ) {
      any = true;
      var flags = client.group(2);
      boolean isLink = flags.contains("S") || flags.contains("M");
      older |= !isLink && Long.parseLong(client.group(1)) < number;
    }
    return older || !any;
  }
}

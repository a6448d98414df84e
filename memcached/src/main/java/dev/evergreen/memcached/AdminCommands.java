package dev.evergreen.memcached;

import static dev.evergreen.memcached.TextProtocol.BAD_FORMAT;
import static dev.evergreen.memcached.TextProtocol.ERROR;
import static dev.evergreen.memcached.TextProtocol.OK;
import static dev.evergreen.memcached.TextProtocol.bytes;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.evergreen.memcached.Protocol.Step;
import dev.evergreen.memcached.Watchers.Topic;
import dev.evergreen.store.Item;
import dev.evergreen.store.Walker;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/** The commands of operators. None is fast, or needs to be. */
final class AdminCommands {
  private static final int LEAST_MEMORY_MIB = 8;
  private static final int MOST_MEMORY_MIB = 1_000_000_000;
  private static final int BUCKETS_PER_STEP = 8;
  private static final int MOST_CLASSES = 64;
  private static final int MOST_PERCENT = 80;

  private static final byte[] HTTP = bytes("HTTP/");
  private static final String BEHIND_OTHERS = "ERROR cannot pipeline other commands before ";

  private final TextProtocol protocol;
  private final MemcachedServer server;
  private final Line line;

  AdminCommands(TextProtocol protocol) {
    this.protocol = protocol;
    server = protocol.server;
    line = protocol.line;
  }

  Step answer(String name) throws IOException {
    return switch (name) {
      case "version" -> say("VERSION " + MemcachedServer.PROTOCOL_VERSION);
      case "verbosity" -> verbosity();
      case "stats" -> stats();
      case "cache_memlimit" -> memoryLimit();
      case "shutdown" -> shutdown();
      case "slabs" -> slabs();
      case "lru" -> lru();
      case "lru_crawler" -> crawler();
      case "watch" -> watch();
      case "refresh_certs" -> refreshCertificates();
      default -> unknown();
    };
  }

  /**
   * A browser, or a server that was made to ask us, must not have the rest of its request, which
   * others wrote, taken for commands.
   */
  private Step unknown() throws IOException {
    int words = line.count();
    return words > 0 && line.startsWith(words - 1, HTTP) ? Step.CLOSE : protocol.reply(ERROR);
  }

  private Step say(String text) throws IOException {
    return protocol.reply(bytes(text));
  }

  private Step verbosity() throws IOException {
    if (line.count() != 2 && line.count() != 3) {
      return protocol.reply(ERROR);
    }
    protocol.noteNoreply();
    if (!line.readLong(1)) {
      return protocol.reply(BAD_FORMAT);
    }
    server.verbosity = (int) Math.min(2, line.number() & 0xffffffffL);
    return protocol.reply(OK);
  }

  private Step memoryLimit() throws IOException {
    if (line.count() != 2 && line.count() != 3) {
      return protocol.reply(ERROR);
    }
    protocol.noteNoreply();
    if (!line.readLong(1)) {
      return protocol.reply(ERROR);
    }
    long mib = line.number() & 0xffffffffL;
    if (mib < LEAST_MEMORY_MIB) {
      return say("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m");
    }
    if (mib > MOST_MEMORY_MIB) {
      return say("MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes");
    }
    // It may take a while, in which others run.
    protocol.endTurn();
    protocol.session().connection.flush();
    return server.store.limit(mib << 20)
        ? protocol.reply(OK)
        : say("MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
  }

  private Step refreshCertificates() throws IOException {
    var tls = server.tls;
    if (tls == null) {
      return say("Error TLS not enabled");
    }
    protocol.noteNoreply();
    try {
      tls.reload();
    } catch (IOException | GeneralSecurityException e) {
      return say("Error " + String.valueOf(e.getMessage()).replaceAll("\\s+", " "));
    }
    return protocol.reply(OK);
  }

  private Step shutdown() throws IOException {
    if (!server.settings.shutsDown) {
      return say("ERROR: shutdown not enabled");
    }
    if (line.count() == 1 || (line.count() == 2 && line.is(1, "graceful"))) {
      server.end();
      return Step.LEAVE;
    }
    return say("CLIENT_ERROR invalid shutdown mode");
  }

  /** There are no slabs: the answers are those of a memcached that does not move them. */
  private Step slabs() throws IOException {
    if (line.count() == 4 && line.is(1, "reassign")) {
      return line.readInt(2) && line.readInt(3)
          ? say("CLIENT_ERROR slab reassignment disabled")
          : protocol.reply(BAD_FORMAT);
    }
    if (line.count() < 3 || !line.is(1, "automove")) {
      return protocol.reply(ERROR);
    }
    protocol.noteNoreply();
    if (line.is(2, "ratio")) {
      return protocol.reply(line.count() >= 4 && fraction(3).isPresent() ? OK : ERROR);
    }
    if (!line.readLong(2)) {
      return protocol.reply(BAD_FORMAT);
    }
    return protocol.reply(Integer.compareUnsigned(line.integer(), 2) <= 0 ? OK : ERROR);
  }

  /** There is no such list to tune: the answers are those of a memcached without its thread. */
  private Step lru() throws IOException {
    protocol.noteNoreply();
    boolean tune = line.count() >= 6 && line.is(1, "tune");
    if (!tune || !line.readLong(2) || !line.readLong(3)) {
      return protocol.reply(ERROR);
    }
    var hot = fraction(4);
    var warm = fraction(5);
    if (hot.isEmpty() || warm.isEmpty()) {
      return protocol.reply(ERROR);
    }
    // Of the 64 bits that a number has, memcached takes 32, and of the sum, too.
    if (Integer.compareUnsigned(percent(2) + percent(3), MOST_PERCENT) > 0) {
      return say("ERROR hot and warm pcts must not exceed 80");
    }
    // To memcached what is no number is not too small.
    return hot.getAsDouble() <= 0 || warm.getAsDouble() <= 0
        ? say("ERROR hot/warm age factors must be greater than 0")
        : protocol.reply(OK);
  }

  private int percent(int word) {
    return line.readLong(word) ? line.integer() : 0;
  }

  private OptionalDouble fraction(int word) {
    return Fractions.of(line.text(word));
  }

  private Step stats() throws IOException {
    protocol.endTurn();
    var name = line.count() == 1 ? "" : line.text(1);
    return switch (name) {
      case "reset" -> {
        server.resetStatistics();
        yield say("RESET");
      }
      case "detail" -> details();
      case "cachedump" -> cacheDump();
      case "sizes_enable", "sizes_disable" -> say("STAT sizes_status disabled");
      default -> report(name);
    };
  }

  private Step report(String name) throws IOException {
    try (var _ = protocol.beginReport()) {
      boolean known =
          StatsReport.tell(
              server, name, (stat, value) -> tell("STAT " + stat + ' ' + value + "\r\n"));
      return known ? write("END\r\n") : protocol.reply(ERROR);
    }
  }

  private void tell(CharSequence line) throws IOException {
    protocol.out.text(line);
    protocol.toldLine();
  }

  private Step write(String text) throws IOException {
    protocol.out.text(text);
    return Step.DONE;
  }

  private Step details() throws IOException {
    switch (line.count() < 3 ? "" : line.text(2)) {
      case "on" -> server.details.enable(true);
      case "off" -> server.details.enable(false);
      case "dump" -> {
        try (var _ = protocol.beginReport()) {
          server.details.dump(this::tell);
        }
        return Step.DONE;
      }
      default -> {
        return say("CLIENT_ERROR usage: stats detail on|off|dump");
      }
    }
    return protocol.reply(OK);
  }

  private Step cacheDump() throws IOException {
    if (!server.settings.dumps) {
      return say("CLIENT_ERROR stats cachedump not allowed");
    }
    if (line.count() < 4) {
      return say("CLIENT_ERROR bad command line");
    }
    if (!line.readLong(2)) {
      return protocol.reply(BAD_FORMAT);
    }
    int slabClass = line.integer();
    if (!line.readLong(3)) {
      return protocol.reply(BAD_FORMAT);
    }
    if (slabClass < 0 || slabClass >= MOST_CLASSES) {
      return say("CLIENT_ERROR Illegal slab id");
    }
    long most = Integer.toUnsignedLong(line.integer());
    dump(this::cachedump, slabClass != 1 ? 0 : most == 0 ? Long.MAX_VALUE : most);
    return write("END\r\n");
  }

  private Step crawler() throws IOException {
    if (line.count() == 2 && (line.is(1, "enable") || line.is(1, "disable"))) {
      return protocol.reply(OK);
    }
    if (line.count() != 3) {
      return protocol.reply(ERROR);
    }
    return switch (line.text(1)) {
      case "crawl" -> isClass() ? protocol.reply(OK) : badClass();
      case "tocrawl" -> protocol.reply(line.readLong(2) ? OK : BAD_FORMAT);
      case "sleep" -> {
        boolean number = line.readLong(2);
        yield number && Integer.compareUnsigned(line.integer(), 1_000_000) > 0
            ? say("CLIENT_ERROR sleep must be one second or less")
            : protocol.reply(number ? OK : BAD_FORMAT);
      }
      case "metadump" -> dumpAll("ERROR metadump not allowed", this::metadump, "END\r\n");
      case "mgdump" -> dumpAll("ERROR key dump not allowed", AdminCommands::mgdump, "EN\r\n");
      default -> protocol.reply(ERROR);
    };
  }

  private Step badClass() throws IOException {
    return say("BADCLASS invalid class id");
  }

  /** The items that are meant: all, in whatever order, or those of classes. */
  private List<String> classes() {
    return Stream.of(line.text(2).split(",", -1)).filter(one -> !one.isEmpty()).toList();
  }

  /** Whether the word says which items are meant. */
  private boolean isClass() {
    var classes = classes();
    return classes.equals(List.of("all"))
        || classes.equals(List.of("hash"))
        || classes.stream().allMatch(one -> one.matches("[1-9]|[1-5][0-9]|6[0-3]"));
  }

  private Step dumpAll(String refusal, Dump dump, String end) throws IOException {
    if (!server.settings.dumps) {
      return say(refusal);
    }
    if (protocol.isBehindOthers()) {
      return say(BEHIND_OTHERS + line.text(1));
    }
    if (!isClass()) {
      return badClass();
    }
    boolean some = !Collections.disjoint(classes(), List.of("all", "hash", "1"));
    dump(dump, some ? Long.MAX_VALUE : 0);
    return write(end);
  }

  /**
   * Shows an item in a list of all. It makes no objects: who lists all items again and again would
   * keep the collector busy, and the others waiting for it.
   */
  private interface Dump {
    void show(MemorySegment key, Item item, StringBuilder to);
  }

  private void dump(Dump dump, long limit) throws IOException {
    var walker = server.store.walker();
    var text = new StringBuilder();
    long[] left = {limit};
    Walker.Visitor shown =
        (key, item) -> {
          if (left[0]-- > 0) {
            dump.show(key, item, text);
          }
        };
    boolean more = limit > 0;
    while (more) {
      for (int i = 0; i < BUCKETS_PER_STEP && more; i++) {
        more = walker.step(1, shown) && left[0] > 0;
        // One bucket at a time, as all who do not take their lists keep the text of so much.
        protocol.out.text(text);
        text.setLength(0);
      }
      protocol.session().connection.flush();
      protocol.in.letOthersRun();
    }
  }

  private void cachedump(MemorySegment key, Item item, StringBuilder to) {
    append(key, to.append("ITEM "));
    to.append(" [").append(item.valueLength()).append(" b; ");
    to.append(item.expiry() == 0 ? 0 : server.clock.unixTime(item.expiry())).append(" s]\r\n");
  }

  private void metadump(MemorySegment key, Item item, StringBuilder to) {
    to.append("key=");
    Watchers.encode(key, to);
    to.append(" exp=").append(item.expiry() == 0 ? -1 : server.clock.unixTime(item.expiry()));
    to.append(" la=").append(server.clock.unixTime(item.lastAccess()));
    to.append(" cas=");
    if (item.cas() >= 0) {
      to.append(item.cas());
    } else {
      to.append(Long.toUnsignedString(item.cas()));
    }
    to.append(item.isFetched() ? " fetch=yes" : " fetch=no");
    to.append(" cls=1 size=").append(item.size()).append('\n');
  }

  private static void mgdump(MemorySegment key, Item item, StringBuilder to) {
    to.append("mg ");
    if (item.isKeyBinary()) {
      to.append(Base64.getEncoder().encodeToString(key.toArray(JAVA_BYTE))).append(" b");
    } else {
      append(key, to);
    }
    to.append("\r\n");
  }

  private static void append(MemorySegment key, StringBuilder to) {
    for (long i = 0; i < key.byteSize(); i++) {
      to.append((char) (key.get(JAVA_BYTE, i) & 0xff));
    }
  }

  private Step watch() throws IOException {
    if (!server.settings.watches) {
      return say("CLIENT_ERROR watch commands not allowed");
    }
    if (protocol.isBehindOthers()) {
      return say(BEHIND_OTHERS + "watch");
    }
    var topics = EnumSet.noneOf(Topic.class);
    for (int word = 1; word < line.count(); word++) {
      var topic = Topic.of(line.text(word));
      if (topic == null) {
        return protocol.reply(ERROR);
      }
      topics.add(topic);
    }
    if (topics.isEmpty()) {
      topics.add(Topic.FETCHERS);
    }
    protocol.session().watch(topics);
    return Step.LEAVE;
  }
}

package dev.evergreen.reports;

import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.NodeId;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * One line for each event of a node's life, as {@code key=value} pairs that programs can read: to
 * the logger {@code dev.evergreen.life}. What may come in floods is limited: of each kind so many a
 * second, and the next line says how many were left out.
 */
public final class LifeLog {

  /** Of the logger. */
  public static final String NAME = "dev.evergreen.life";

  /** Of each kind. */
  public static final int MOST_PER_SECOND = 10;

  private static final System.Logger LOG = System.getLogger(NAME);
  private static final Pattern PLAIN = Pattern.compile("[^\\s\"=]+");

  /** How many lines of a kind there were since when; guarded by the map. */
  private static final class Rate {
    private long sinceNanos;
    private int logged;
    private long leftOut;
  }

  private final NodeId node;
  private final Clock clock;
  private final Level usual;
  private final Map<String, Rate> rates = new HashMap<>(); // guarded by itself

  /**
   * The log of a node.
   *
   * @param usual the level of what is seldom and no trouble
   */
  public LifeLog(NodeId node, Clock clock, Level usual) {
    this.node = node;
    this.clock = clock;
    this.usual = usual;
  }

  /** Something that happens seldom. */
  public void usual(String event, Object... pairs) {
    log(usual, event, pairs);
  }

  /** Something that somebody should look at. */
  public void warning(String event, Object... pairs) {
    log(Level.WARNING, event, pairs);
  }

  /** Something that happens often. */
  public void debug(String event, Object... pairs) {
    if (LOG.isLoggable(Level.DEBUG)) {
      log(Level.DEBUG, event, pairs);
    }
  }

  private void log(Level level, String event, Object... pairs) {
    if (!LOG.isLoggable(level)) {
      return;
    }
    long leftOut = admit(event);
    if (leftOut < 0) {
      return;
    }
    var line = new StringBuilder("event=").append(event);
    append(line, "node", node);
    for (int i = 0; i + 1 < pairs.length; i += 2) {
      append(line, pairs[i].toString(), pairs[i + 1]);
    }
    if (leftOut > 0) {
      append(line, "left-out", leftOut);
    }
    LOG.log(level, line::toString);
  }

  /** How many of this kind were left out before this one; -1 if this one is, too. */
  private long admit(String event) {
    long now = clock.nanos();
    synchronized (rates) {
      var rate = rates.computeIfAbsent(event, kind -> new Rate());
      if (rate.logged == 0 || now - rate.sinceNanos >= Duration.ofSeconds(1).toNanos()) {
        rate.sinceNanos = now;
        rate.logged = 0;
      }
      if (rate.logged >= MOST_PER_SECOND) {
        rate.leftOut++;
        return -1;
      }
      rate.logged++;
      long leftOut = rate.leftOut;
      rate.leftOut = 0;
      return leftOut;
    }
  }

  private static void append(StringBuilder line, String key, Object value) {
    var text = value.toString();
    line.append(' ').append(key).append('=');
    if (PLAIN.matcher(text).matches()) {
      line.append(text);
    } else {
      line.append('"')
          .append(text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\R", "\\\\n"));
      line.append('"');
    }
  }
}

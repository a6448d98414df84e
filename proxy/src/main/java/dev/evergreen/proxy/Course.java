package dev.evergreen.proxy;

import dev.evergreen.http.RequestHead;
import dev.evergreen.proxy.rules.CacheStatus;
import java.net.InetAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How one transaction went, to be looked at afterwards. Of the transaction's fiber until its end.
 */
public final class Course {

  /**
   * That a point was reached.
   *
   * @param micros after the beginning
   * @param detail what was found there
   */
  public record Step(Point point, long micros, String detail) {}

  /**
   * So many steps are kept: the first ones, and the last one. A long body has one for each piece.
   */
  static final int MOST = 64;

  private final long began = System.nanoTime();
  private final long startMillis;

  /** Null if nobody looks. */
  private final @Nullable List<Step> steps;

  String client = "-";
  String method = "-";
  String target = "-";
  String host = "-";
  String version = "-";
  String agent = "-";
  String referer = "-";
  int status;
  long bytes;
  @Nullable CacheStatus cache;
  @Nullable String failure;
  private long nanos;

  Course(long startMillis, boolean detailed) {
    this.startMillis = startMillis;
    steps = detailed ? new ArrayList<>() : null;
  }

  void of(RequestHead request, InetAddress from) {
    client = from.getHostAddress();
    method = request.method();
    target = request.target();
    host = request.authority();
    version = request.version().toString();
    var fields = request.fields();
    agent = orNone(fields.get("user-agent"));
    referer = orNone(fields.get("referer"));
  }

  private static String orNone(@Nullable String text) {
    return text == null ? "-" : text;
  }

  /** A point was reached. */
  void reached(Point point, Object detail) {
    if (steps != null) {
      if (steps.size() == MOST) {
        steps.removeLast();
      }
      steps.add(new Step(point, (System.nanoTime() - began) / 1000, detail.toString()));
    }
  }

  void end() {
    nanos = System.nanoTime() - began;
  }

  /** When it began. */
  public Instant start() {
    return Instant.ofEpochMilli(startMillis);
  }

  /** How long it took, in microseconds. */
  public long micros() {
    return nanos / 1000;
  }

  /** The client's address, without port. */
  public String client() {
    return client;
  }

  /** The request's method. */
  public String method() {
    return method;
  }

  /** The request's target, as it was sent. */
  public String target() {
    return target;
  }

  /** Whom the request was for. */
  public String host() {
    return host;
  }

  /** The version of HTTP that the client spoke. */
  public String version() {
    return version;
  }

  /** The client's User-Agent; "-" if it has none. */
  public String agent() {
    return agent;
  }

  /** The request's Referer; "-" if it has none. */
  public String referer() {
    return referer;
  }

  /** What the client was answered; 0 if it got no answer. */
  public int status() {
    return status;
  }

  /** How many bytes of the body were sent. */
  public long bytes() {
    return bytes;
  }

  /** How the cache handled it; null if it had no part in it. */
  public @Nullable CacheStatus cache() {
    return cache;
  }

  /** What went wrong, or null. */
  public @Nullable String failure() {
    return failure;
  }

  /**
   * The points that it reached, in order, of many the first and the last; none unless somebody
   * watches.
   */
  public List<Step> steps() {
    return steps == null ? List.of() : List.copyOf(steps);
  }
}

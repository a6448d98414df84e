package dev.evergreen.proxy;

import dev.evergreen.http.ClientExchange;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.rules.CacheRules;
import dev.evergreen.proxy.rules.Life;
import org.jspecify.annotations.Nullable;

/**
 * The beginning of an origin's answer; its body is still to be read.
 *
 * @param delay how long it took to answer, in milliseconds
 * @param received when it answered, by the clock by which durations are counted
 * @param date the same by the clock by which dates are told
 */
record OriginAnswer(
    ResponseHead head,
    ClientExchange exchange,
    Origins.Member member,
    long delay,
    long received,
    long date)
    implements AutoCloseable {

  /** How long it may be used, if it has such a head. */
  Life life(ResponseHead as, CacheRules rules) {
    return Life.of(as, date - delay, date, rules).since(received);
  }

  /**
   * The Age that it came with; null if it has none, as it comes from no other cache, or none that
   * can be understood (RFC 9111 §5.1).
   */
  @Nullable String age() {
    var seconds = Life.receivedAge(head.fields());
    return seconds.isEmpty() ? null : Long.toString(seconds.getAsLong());
  }

  @Override
  public void close() {
    member.underWay.decrementAndGet();
    exchange.close();
  }

  @Override
  public String toString() {
    return head.status() + " from " + member.origin;
  }
}

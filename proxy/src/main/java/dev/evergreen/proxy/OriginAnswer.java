package dev.evergreen.proxy;

import dev.evergreen.http.ClientExchange;
import dev.evergreen.http.ResponseHead;

/**
 * The beginning of an origin's answer; its body is still to be read.
 *
 * @param requested when it was asked, in milliseconds since 1970
 * @param received when it answered
 */
record OriginAnswer(
    ResponseHead head,
    ClientExchange exchange,
    Origins.Member member,
    long requested,
    long received)
    implements AutoCloseable {

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

package dev.evergreen.proxy;

import dev.evergreen.http.Exchange;
import dev.evergreen.http.RequestHead;

/**
 * A client with its request.
 *
 * @param authority the normal form of whom the request is for
 */
record Asker(
    Proxy proxy,
    Proxy.Setup setup,
    Exchange exchange,
    Client client,
    Course course,
    Reach reach,
    String authority) {

  RequestHead request() {
    return exchange.request();
  }
}

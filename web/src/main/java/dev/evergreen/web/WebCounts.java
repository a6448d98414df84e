package dev.evergreen.web;

import java.util.Map;

/**
 * What a web server holds at a moment and has done since its start.
 *
 * @param connections open connections of every kind
 * @param liveConnections WebSocket and event-stream connections among them
 * @param subscriptions views being watched, counted for each connection that does
 * @param views distinct live computations
 * @param heldBytes of their results, equal ones once
 * @param requests requests answered or refused
 * @param resultsSerialised results turned into JSON; one for each change, however many watch
 * @param resultsSent results delivered to connections
 * @param resultsSkipped results that were replaced by a later one before a slow connection took
 *     them
 * @param unchanged reconnects that were told that they have the latest result already
 * @param waits how often what was asked for, or a result, had to wait since too much work was done
 *     for one address
 * @param malformed requests and messages that could not be understood
 * @param cut connections ended by the server, by reason: {@code stalled}, {@code slowest}, {@code
 *     silent}, {@code slow-request}, {@code malformed}, {@code flood}, {@code disconnected}
 * @param refused requests, connections and subscriptions refused, by reason: {@code connections},
 *     {@code address}, {@code subscriptions}, {@code views}, {@code requests}, {@code origin},
 *     {@code host}, {@code unauthenticated}, {@code forbidden}, {@code too-large}, {@code
 *     not-found}, …
 */
public record WebCounts(
    int connections,
    int liveConnections,
    int subscriptions,
    int views,
    long heldBytes,
    long requests,
    long resultsSerialised,
    long resultsSent,
    long resultsSkipped,
    long unchanged,
    long waits,
    long malformed,
    Map<String, Long> cut,
    Map<String, Long> refused) {

  public WebCounts {
    cut = Map.copyOf(cut);
    refused = Map.copyOf(refused);
  }
}

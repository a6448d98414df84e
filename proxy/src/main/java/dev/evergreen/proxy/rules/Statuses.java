package dev.evergreen.proxy.rules;

import java.util.List;
import java.util.Set;

/** What is known of statuses and methods. */
final class Statuses {

  /** May be stored and reused without saying so (RFC 9110 §15.1). */
  private static final Set<Integer> HEURISTIC =
      Set.of(200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501);

  /** Those whose demands on caches are met here. */
  private static final Set<Integer> UNDERSTOOD =
      Set.of(
          200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405,
          406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 426, 451, 500, 501,
          502, 503, 504, 505);

  /** RFC 9110 §9.2.1, with the methods of the register that are safe. */
  private static final Set<String> SAFE =
      Set.of("GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY");

  /** RFC 9110 §9.2.2. */
  private static final Set<String> IDEMPOTENT = Set.of("PUT", "DELETE");

  private Statuses() {}

  static boolean heuristic(int status) {
    return HEURISTIC.contains(status);
  }

  /** The failures among them. */
  static List<Integer> heuristicFailures() {
    return HEURISTIC.stream().filter(status -> status >= 400).sorted().toList();
  }

  static boolean understood(int status) {
    return UNDERSTOOD.contains(status);
  }

  /** Whether a failure for which {@code stale-if-error} is meant (RFC 5861 §4). */
  static boolean failure(int status) {
    return status == 500 || status == 502 || status == 503 || status == 504;
  }

  static boolean safe(String method) {
    return SAFE.contains(method);
  }

  static boolean idempotent(String method) {
    return SAFE.contains(method) || IDEMPOTENT.contains(method);
  }
}

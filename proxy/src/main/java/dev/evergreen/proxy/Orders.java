package dev.evergreen.proxy;

import dev.evergreen.http.RequestHead;

/**
 * Whether an order that comes from this machine is one of who works there, and not of a page of
 * another site that a browser shows there. Such a page names its own site as its origin; and if its
 * name has come to mean this machine, it names that as the host.
 */
final class Orders {
  private Orders() {}

  /** Whether the host is a name of the loopback interface. */
  static boolean nameThisMachine(RequestHead request) {
    var host = request.authority().replaceFirst(":\\d+$", "");
    return host.equals("localhost") || host.equals("[::1]") || host.matches("127(\\.\\d+){3}");
  }

  /** Whether no page gives it, or one of the same host. */
  static boolean areOfSameSite(RequestHead request, String scheme) {
    var origin = request.fields().get("origin");
    return origin == null || origin.equals(scheme + "://" + request.authority());
  }
}

package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import java.net.InetAddress;

/**
 * Who asks.
 *
 * @param address of the client, also behind proxies that are trusted
 * @param peer whose connection it is
 * @param scheme by which the client asked, "http" or "https"
 */
record Client(InetAddress address, InetAddress peer, String scheme) {

  /**
   * Of a request: what trusted proxies say of it counts, from the last of them back to the first
   * address that is none of theirs.
   */
  static Client of(RequestHead request, InetAddress peer, Trust trust) {
    var scheme = request.scheme();
    if (!trust.includes(peer)) {
      return new Client(peer, peer, scheme);
    }
    var fields = request.fields();
    var told = fields.get("x-forwarded-proto");
    boolean known = "http".equals(told) || "https".equals(told);
    return new Client(farthest(fields, peer, trust), peer, known ? String.valueOf(told) : scheme);
  }

  private static InetAddress farthest(Fields fields, InetAddress peer, Trust trust) {
    var address = peer;
    for (var text : fields.members("x-forwarded-for").reversed()) {
      try {
        address = InetAddress.ofLiteral(text);
      } catch (IllegalArgumentException e) {
        return address;
      }
      if (!trust.includes(address)) {
        return address;
      }
    }
    return address;
  }

  /** Whether it is on this machine, and nobody says that it asks for another. */
  boolean isLocal(Fields fields) {
    return peer.isLoopbackAddress()
        && address.isLoopbackAddress()
        && !fields.has("via")
        && !fields.has("forwarded")
        && !fields.has("x-forwarded-for");
  }
}

package dev.evergreen.http;

/**
 * Where requests are sent.
 *
 * @param secure whether by TLS
 * @param host a name, or an address without brackets
 * @param port from 1 to 65,535
 */
public record Origin(boolean secure, String host, int port) {

  public Origin {
    if (host.isEmpty() || port < 1 || port > 65_535) {
      throw new IllegalArgumentException("there is no origin at '" + host + "', port " + port);
    }
  }

  /** The value of Host for it: without the port, if that is the scheme's. */
  public String authority() {
    var name = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return port == (secure ? 443 : 80) ? name : name + ":" + port;
  }

  /** As in a URI, such as "http://host:8080". */
  @Override
  public String toString() {
    var name = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return (secure ? "https://" : "http://") + name + ":" + port;
  }
}

package dev.evergreen.shims.redis;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * As whom and how a client speaks to Redis.
 *
 * @param user null if it has not said who it is
 * @param password what Redis has accepted for that user
 * @param protocol 2 or 3
 */
record Identity(@Nullable String user, String password, int protocol) {

  /** Of a connection that is new. */
  static final Identity NEW = new Identity(null, "", 2);

  Identity as(String user, String password) {
    return new Identity(user, password, protocol);
  }

  Identity withProtocol(int other) {
    return other == protocol ? this : new Identity(user, password, other);
  }

  /** Whether it is the same but for the password. */
  boolean isOfSameUser(Identity other) {
    return Objects.equals(user, other.user) && protocol == other.protocol;
  }

  /** What makes a new connection one of this identity; texts hold a character for each byte. */
  List<byte[]> introduction(Names names) {
    var requests = new java.util.ArrayList<byte[]>();
    if (user != null) {
      requests.add(names.request("AUTH", user, password));
    }
    if (protocol != 2) {
      requests.add(names.request("HELLO", String.valueOf(protocol)));
    }
    return requests;
  }

  /** A request of some words. */
  static byte[] request(String... words) {
    return Inline.asArray(
        java.util.Arrays.stream(words)
            .map(word -> word.getBytes(StandardCharsets.ISO_8859_1))
            .toList());
  }

  @Override
  public String toString() {
    // Never the password.
    return (user == null ? "nobody" : user) + " by RESP" + protocol;
  }
}

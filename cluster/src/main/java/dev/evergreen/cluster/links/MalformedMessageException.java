package dev.evergreen.cluster.links;

/** Bytes of another node that are no message, or no handshake. */
final class MalformedMessageException extends Exception {

  MalformedMessageException(String message) {
    // Made for every malformed message that arrives: its place is in its text.
    super(message, null, false, false);
  }
}

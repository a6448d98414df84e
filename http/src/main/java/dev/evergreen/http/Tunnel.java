package dev.evergreen.http;

/**
 * What a connection, or a stream of HTTP/2, is after it has left HTTP: bytes in both directions,
 * until each side ends its own.
 *
 * @param in what the peer sends, without any length; it ends when the peer ends its direction
 * @param out what is sent to the peer; {@link BodyWriter#end} ends this direction only
 */
public record Tunnel(BodyReader in, BodyWriter out) {}

package dev.evergreen.provenance;

/**
 * Who is at the other end of a client's connection, as far as is known.
 *
 * @param address such as {@code 127.0.0.1:51234}
 * @param name the name that it gave itself; empty if none
 * @param user as whom the store knows it; empty if unknown
 * @param protocol how it speaks, such as {@code RESP3}
 */
public record Client(String address, String name, String user, String protocol) {}

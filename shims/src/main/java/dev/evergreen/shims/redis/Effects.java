package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What scripts have carried out, as it stands on record: as an attribute before the reply, which is
 * no part of it. Of each call of a script there is a list of commands, and of each command a list
 * of the number of its database and its words.
 */
final class Effects {
  private static final Bytes HEAD = Bytes.of("|1\r\n$17\r\nevergreen:effects\r\n");

  private Effects() {}

  /** The attribute. Of each call, in their order, its commands as {@link #list} makes them. */
  static byte[] attribute(List<byte[]> calls) {
    return Inline.join(HEAD.toArray(), list(calls));
  }

  /** Values as one list. */
  static byte[] list(List<byte[]> values) {
    var out = new ByteArrayOutputStream();
    out.writeBytes(Inline.ascii("*" + values.size() + "\r\n"));
    values.forEach(out::writeBytes);
    return out.toByteArray();
  }

  /** The calls of a reply that is on record, each as {@link #list} made it; empty if not known. */
  static Optional<List<Bytes>> calls(@Nullable Bytes recorded) {
    if (recorded == null || !recorded.startsWith(HEAD)) {
      return Optional.empty();
    }
    try {
      return Optional.of(Resp.elements(first(recorded)));
    } catch (IllegalArgumentException cut) {
      return Optional.empty();
    }
  }

  private static Bytes first(Bytes recorded) {
    return Resp.first(recorded.slice(HEAD.length(), recorded.length()));
  }

  /** The commands of one call, each with the number of its database first. */
  static List<List<Bytes>> commands(Bytes call) {
    var commands = new ArrayList<List<Bytes>>();
    for (var command : Resp.elements(call)) {
      commands.add(Resp.command(command));
    }
    return commands;
  }

  /** The reply as Redis gave it. */
  static Bytes reply(Bytes recorded) {
    if (!recorded.startsWith(HEAD)) {
      return recorded;
    }
    try {
      return recorded.slice(HEAD.length() + first(recorded).length(), recorded.length());
    } catch (IllegalArgumentException cut) {
      return recorded;
    }
  }

  /** A reply with what one call has carried out. */
  static Bytes with(Bytes call, Bytes reply) {
    return Bytes.of(Inline.join(attribute(List.of(call.toArray())), reply.toArray()));
  }
}

package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Operation;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Errors with which Redis refuses a command whatever it holds: for the command's own words, or for
 * how the server is. Such a command has done nothing, and would have done nothing after any other
 * commands. What Redis finds wrong with words is its own business, so its replies tell, and not
 * rules of ours.
 */
final class Refusals {
  /** Memory, rights, load, another client: nothing on record tells when Redis says so. */
  private static final Set<String> OF_THE_SERVER =
      Set.of(
          "OOM",
          "BUSY",
          "LOADING",
          "MISCONF",
          "NOAUTH",
          "NOPERM",
          "READONLY",
          "MASTERDOWN",
          "NOREPLICAS",
          "UNBLOCKED");

  private static final List<Bytes> OF_THE_WORDS =
      Stream.of(
              "wrong number of arguments for",
              "unknown command",
              "unknown subcommand",
              "syntax error",
              "DB index is out of range",
              "numkeys should be greater than 0",
              "at least 1 input key is needed",
              "min or max is not",
              "min or max not valid",
              "XX and NX options",
              "NX and XX, GT or LT options",
              "GT, LT, and/or NX",
              "GT and LT options",
              "INCR option supports",
              "LIMIT can't be negative",
              "COUNT must be > 0",
              "count should be greater than 0",
              "invalid start ID",
              "invalid end ID",
              "invalid cursor",
              "invalid expire time in",
              "value is out of range, must be positive",
              "bit offset is not an integer",
              "bit is not an integer",
              "weight value is not a float",
              "decrement would overflow",
              "timeout is",
              "STORE option in")
          .map(text -> Bytes.of("-ERR " + text))
          .toList();

  /** They look at keys before they look at all of their words. */
  private static final Set<String> LOOK_FIRST =
      Set.of("BITCOUNT", "BITPOS", "GETEX", "XCLAIM", "LCS", "HSCAN", "SSCAN", "ZSCAN");

  private static final List<String> FAMILIES_THAT_LOOK_FIRST =
      List.of("GEO", "ZUNION", "ZINTER", "ZDIFF");

  private Refusals() {}

  /** Whether the server has refused it for what it is like itself. */
  static boolean isOfTheServer(Operation operation) {
    var reply = operation.reply();
    if (reply == null || !isError(reply) || Scripts.isCall(operation.request())) {
      return false;
    }
    var text = reply.slice(1, Math.min(reply.length(), 20)).text();
    return OF_THE_SERVER.contains(text.split("[ \r]", 2)[0]);
  }

  /** Whether its words were refused, before anything was looked at. */
  static boolean isOfTheWords(Operation operation) {
    return speaksOfWords(operation) && !looksFirst(operation);
  }

  /** Whether its words were refused, but what it looked at before might have been, too. */
  static boolean isOfTheWordsAtLast(Operation operation) {
    return speaksOfWords(operation) && looksFirst(operation);
  }

  private static boolean speaksOfWords(Operation operation) {
    var reply = operation.reply();
    return reply != null
        && isError(reply)
        && !Scripts.isCall(operation.request())
        && OF_THE_WORDS.stream().anyMatch(reply::startsWith);
  }

  private static boolean isError(Bytes reply) {
    return reply.length() > 0 && reply.at(0) == '-';
  }

  private static boolean looksFirst(Operation operation) {
    var name = operation.request().getFirst().text().toUpperCase(Locale.ROOT);
    return LOOK_FIRST.contains(name)
        || FAMILIES_THAT_LOOK_FIRST.stream().anyMatch(name::startsWith);
  }
}

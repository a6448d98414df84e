package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Operation;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

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

  /** The name is said as it was asked for. */
  private static final String NO_CLIENT = "-ERR UNKNOWN COMMAND 'CLIENT'";

  /** For what the store holds: had it held something else, the command would have been done. */
  private static final List<Bytes> OF_THE_STATE =
      errors(
          "no such key",
          "index out of range",
          "hash value is not",
          "increment or decrement would overflow",
          "increment would produce",
          "resulting score is not a number",
          "string exceeds maximum allowed size",
          "String too long for LCS",
          "The specified keys must contain",
          "Insufficient memory",
          "could not decode requested zset member",
          "One or more scores can't be converted",
          "The ID specified in XADD is equal or smaller",
          "The stream has exhausted",
          "Elements are too large",
          "The XGROUP subcommand requires the key",
          "The ID specified in XSETID is smaller than the target",
          "The entries_added specified in XSETID is smaller than the target");

  /** Of these the number that is none may be the one that is kept. */
  private static final Set<String> COUNT_ON =
      Set.of("INCR", "DECR", "INCRBY", "DECRBY", "INCRBYFLOAT");

  private static final Bytes ERROR = Bytes.of("-ERR ");
  private static final Bytes NOT_A_NUMBER = Bytes.of("-ERR value is not");

  /** For words that are looked at before any key. */
  private static final List<Bytes> OF_THE_WORDS =
      errors(
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
          "STORE option in",
          "value is not a valid float",
          "BITOP NOT must be called",
          "Invalid OVERFLOW type",
          "Invalid bitfield type",
          "The MAXLEN argument must be",
          "The LIMIT argument must be",
          "The ID specified in XADD must be",
          "invalid first DB index",
          "invalid second DB index",
          "source and destination objects are the same",
          "offset is out of range",
          "RANK can't be zero",
          "Unsupported option");

  /** They look at keys before they look at all of their words. */
  private static final Set<String> LOOK_FIRST =
      Set.of("BITCOUNT", "BITPOS", "GETEX", "XCLAIM", "LCS", "HSCAN", "SSCAN", "ZSCAN");

  private static final List<String> FAMILIES_THAT_LOOK_FIRST =
      List.of("GEO", "ZUNION", "ZINTER", "ZDIFF");

  private Refusals() {}

  private static List<Bytes> errors(String... texts) {
    return Stream.of(texts).map(text -> Bytes.of("-ERR " + text)).toList();
  }

  /** Whether the server has refused it for what it is like itself. */
  static boolean isOfTheServer(Operation operation) {
    var reply = operation.reply();
    if (reply == null || !isError(reply) || Scripts.isCall(operation.request())) {
      return false;
    }
    var text = reply.slice(1, Math.min(reply.length(), 20)).text();
    return OF_THE_SERVER.contains(text.split("[ \r]", 2)[0]);
  }

  /**
   * Whether what has come of a reply may be the beginning of a refusal to be silent: such a one, or
   * that of a store that knows no CLIENT. That names it, so it is no refusal of another command.
   */
  static boolean mayBeOfSilence(ByteBuffer bytes, int from, int end) {
    var text = new byte[Math.min(end - from, NO_CLIENT.length())];
    bytes.get(from, text);
    var said = new String(text, StandardCharsets.ISO_8859_1).toUpperCase(Locale.ROOT);
    return Stream.concat(OF_THE_SERVER.stream().map(kind -> "-" + kind + " "), Stream.of(NO_CLIENT))
        .anyMatch(kind -> said.startsWith(kind) || kind.startsWith(said));
  }

  /** Whether its words were refused, before anything was looked at. */
  static boolean isOfTheWords(Operation operation) {
    return speaksOfWords(operation)
        && !looksFirst(operation)
        && startsWithAny(operation.reply(), OF_THE_WORDS);
  }

  /**
   * Whether the words of a command on data were refused, but what it may have looked at before
   * might have been, too. So it is with every error that does not speak of the state.
   */
  static boolean isOfTheWordsAtLast(Operation operation) {
    return speaksOfWords(operation) && !isOfTheWords(operation);
  }

  private static boolean speaksOfWords(Operation operation) {
    var reply = operation.reply();
    return reply != null
        && reply.startsWith(ERROR)
        && !Scripts.isCall(operation.request())
        && !speaksOfState(operation, reply);
  }

  private static boolean speaksOfState(Operation operation, Bytes reply) {
    var name = name(operation);
    return startsWithAny(reply, OF_THE_STATE)
        || (COUNT_ON.contains(name) && reply.startsWith(NOT_A_NUMBER))
        // Where there is no such set it does not look at its radius, and stores nothing.
        || (name.startsWith("GEORADIUSBYMEMBER") && !startsWithAny(reply, OF_THE_WORDS));
  }

  private static boolean startsWithAny(@Nullable Bytes reply, List<Bytes> texts) {
    return reply != null && texts.stream().anyMatch(reply::startsWith);
  }

  private static boolean isError(Bytes reply) {
    return reply.length() > 0 && reply.at(0) == '-';
  }

  private static boolean looksFirst(Operation operation) {
    var name = name(operation);
    return LOOK_FIRST.contains(name)
        || FAMILIES_THAT_LOOK_FIRST.stream().anyMatch(name::startsWith);
  }

  private static String name(Operation operation) {
    // Of one that is cut off there may be none.
    return operation.request().isEmpty()
        ? ""
        : operation.request().getFirst().text().toUpperCase(Locale.ROOT);
  }
}

package dev.evergreen.codec;

/**
 * The first byte of every encoded value, from which a reader that does not know the type can tell
 * where the value ends. The whole format:
 *
 * <pre>
 * value   := NULL | FALSE | TRUE
 *          | INT zigzag                      byte, short, char, int, long
 *          | FLOAT 4 bytes | DOUBLE 8 bytes  big-endian, one NaN
 *          | STRING text
 *          | PACK length bytes               java.time, UUID, big numbers, byte[], boolean[]
 *          | INTS count zigzag*              short[], char[], int[], long[]
 *          | FLOATS count 4 bytes* | DOUBLES count 8 bytes*
 *          | NONE | SOME value               optionals
 *          | ENUM name
 *          | LIST count value*               lists, collections, other arrays; sets and maps whose
 *                                            order counts, a key and its value as two
 *          | SET count key*                  keys strictly ascending
 *          | MAP count (key value)*          keys strictly ascending
 *          | RECORD layout value*            one value for each name of the layout
 *          | VARIANT name value              a leaf of a sealed type; the value is RECORD or ENUM
 * text    := varint(2 * chars) Latin-1 bytes | varint(2 * chars + 1) UTF-16BE units
 * name    := 0 text | n                      a new name, or the n-th new one of the message
 * layout  := 0 count text* | n               component names, likewise
 * key     := value                           written as if it were a message of its own
 * </pre>
 *
 * <p>Counts, lengths and numbers are varints of the fewest bytes: seven bits each, the lowest
 * first. A text is Latin-1 if it can be. Keys count names and layouts for themselves, so that their
 * bytes, and with them their order, depend on nothing but the key. Hence a value has exactly one
 * encoding, and a reader refuses any other. The one exception is a {@code ZonedDateTime} whose
 * offset has since been changed by new time zone rules: it reads as the same instant under the new
 * ones, rather than not at all.
 */
final class Tag {
  static final int NULL = 0;
  static final int FALSE = 1;
  static final int TRUE = 2;
  static final int INT = 3;
  static final int FLOAT = 4;
  static final int DOUBLE = 5;
  static final int STRING = 6;
  static final int PACK = 7;
  static final int INTS = 8;
  static final int FLOATS = 9;
  static final int DOUBLES = 10;
  static final int NONE = 11;
  static final int SOME = 12;
  static final int ENUM = 13;
  static final int LIST = 14;
  static final int SET = 15;
  static final int MAP = 16;
  static final int RECORD = 17;
  static final int VARIANT = 18;

  /** No process has more record layouts, so no message needs more. */
  static final int MAX_LAYOUTS = 1 << 14;

  /** The most distinct names of enum constants and sealed leaves in one message. */
  static final int MAX_NAMES = 1 << 16;

  private Tag() {}
}

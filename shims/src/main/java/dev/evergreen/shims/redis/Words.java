package dev.evergreen.shims.redis;

import java.nio.ByteBuffer;

/**
 * What of a request has to be known when it is replied to. Texts hold a character for each byte,
 * and are empty where the request has nothing there.
 *
 * @param count of its words, the name of the command included
 * @param first such as the number of a database or the version of the protocol
 * @param name of the connection, if it is to get one
 * @param ofShim whether the shim itself has asked
 */
record Words(int count, String first, String user, String password, String name, boolean ofShim) {

  /** Of requests that have nothing of interest. */
  static final Words NONE = new Words(2, "", "", "", "", false);

  private static final int LONGEST = 16 << 10;

  /** Of a request that a scanner has just found. */
  static Words of(Verb verb, RequestScanner request, ByteBuffer bytes) {
    int count = request.count;
    return switch (verb) {
      case SELECT -> new Words(count, word(request, bytes, 1), "", "", "", false);
      case TRACKING -> new Words(count, word(request, bytes, 2), "", "", "", false);
      case SET_NAME -> new Words(count, "", "", "", word(request, bytes, 2), false);
      case SUBSCRIBE, UNSUBSCRIBE -> new Words(count, "", "", "", "", false);
      case AUTH ->
          count == 2
              ? new Words(count, "", "default", word(request, bytes, 1), "", false)
              : new Words(count, "", word(request, bytes, 1), word(request, bytes, 2), "", false);
      case HELLO -> ofHello(request, bytes);
      default -> NONE;
    };
  }

  /** Of the shim's own selection of a database. */
  static Words ofSelection(int database) {
    return new Words(2, String.valueOf(database), "", "", "", true);
  }

  private static Words ofHello(RequestScanner request, ByteBuffer bytes) {
    var user = "";
    var password = "";
    var name = "";
    for (int i = 2; i < request.count; i++) {
      switch (Verb.text(request, bytes, i)) {
        case "auth" -> {
          user = word(request, bytes, i + 1);
          password = word(request, bytes, i + 2);
          i += 2;
        }
        case "setname" -> name = word(request, bytes, ++i);
        default -> {}
      }
    }
    return new Words(request.count, word(request, bytes, 1), user, password, name, false);
  }

  private static String word(RequestScanner request, ByteBuffer bytes, int index) {
    return Verb.argument(request, bytes, index, LONGEST);
  }

  /** The first as a number, or -1 if it is none. */
  int number() {
    return first.matches("[0-9]{1,9}") ? Integer.parseInt(first) : -1;
  }

  @Override
  public String toString() {
    // Never a password.
    return "a request of " + count + " words";
  }
}

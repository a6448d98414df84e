package dev.evergreen.shims.redis;

import java.nio.ByteBuffer;

/**
 * What of a request has to be known when it is replied to. Texts hold a character for each byte,
 * and are empty where the request has nothing there.
 *
 * @param count of its words, the name of the command included
 * @param first such as the number of a database, the version of the protocol or a time
 * @param name of the connection, if it is to get one
 * @param ofShim whether the shim itself has asked
 * @param whole whether these are all; if not, only Redis knows as whom the client speaks afterwards
 */
record Words(
    int count,
    String first,
    String user,
    String password,
    String name,
    boolean ofShim,
    boolean whole) {

  /** Of requests that have nothing of interest. */
  static final Words NONE = of(2, "", "", "", "", true);

  /** Of a request of the shim's own that changes nothing. */
  static final Words OF_SHIM = new Words(1, "", "", "", "", true, true);

  private static Words of(
      int count, String first, String user, String password, String name, boolean whole) {
    return new Words(count, first, user, password, name, false, whole);
  }

  /** Of a request that a scanner has just found. */
  static Words of(Verb verb, RequestScanner request, ByteBuffer bytes) {
    int count = request.count;
    return switch (verb) {
      case SELECT -> of(count, word(request, bytes, 1), "", "", "", true);
      case STRANGE -> of(count, Verb.text(request, bytes, 1), "", "", "", true);
      case TRACKING, PAUSES -> of(count, word(request, bytes, 2), "", "", "", true);
      case SET_NAME -> of(count, "", "", "", word(request, bytes, 2), request.has(2));
      case SUBSCRIBE, UNSUBSCRIBE -> of(count, "", "", "", "", true);
      case AUTH ->
          count == 2
              ? of(count, "", "default", word(request, bytes, 1), "", request.has(1))
              : of(
                  count,
                  "",
                  word(request, bytes, 1),
                  word(request, bytes, 2),
                  "",
                  request.has(1) && request.has(2));
      case HELLO -> ofHello(request, bytes);
      default -> NONE;
    };
  }

  /** Of the shim's own selection of a database. */
  static Words ofSelection(int database) {
    return new Words(2, String.valueOf(database), "", "", "", true, true);
  }

  /** Of the shim's own naming of a connection. */
  static Words ofNaming(String name) {
    return new Words(3, "", "", "", name, true, true);
  }

  private static Words ofHello(RequestScanner request, ByteBuffer bytes) {
    var version = word(request, bytes, 1);
    if (request.count > 1 && !request.has(request.count - 1)) {
      // The last user that it names counts, and may be one that is not seen here.
      return of(request.count, version, "", "", "", false);
    }
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
    return of(request.count, version, user, password, name, true);
  }

  private static String word(RequestScanner request, ByteBuffer bytes, int index) {
    return Verb.argument(request, bytes, index, Integer.MAX_VALUE);
  }

  /** The first as a number, or -1 if it is none to Redis. */
  int number() {
    return first.matches("0|[1-9][0-9]{0,8}") ? Integer.parseInt(first) : -1;
  }

  @Override
  public String toString() {
    // Never a password.
    return "a request of " + count + " words";
  }
}

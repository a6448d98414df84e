package dev.evergreen.web;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Reads a line of the header {@code Forwarded} (RFC 7239, section 4), which each proxy of a chain
 * adds an element to. It is read from left to right and once: what looks like a parameter inside of
 * a quoted value is none.
 */
final class Forwarded {

  /** A line that is no {@code Forwarded}: nothing that it says can be told from what it quotes. */
  private static final class MalformedException extends Exception {
    private static final long serialVersionUID = 1;
  }

  private static final String MARKS = "!#$%&'*+-.^_`|~";

  private final String line;
  private int at;

  private Forwarded(String line) {
    this.line = line;
  }

  /**
   * For whom each element says that it asks, in the order of the chain; empty for one that does not
   * say. Of a line that breaks the grammar there is one element, which does not say.
   */
  static List<Optional<String>> clients(String line) {
    try {
      return new Forwarded(line).elements();
    } catch (MalformedException e) {
      return List.of(Optional.empty());
    }
  }

  private List<Optional<String>> elements() throws MalformedException {
    var clients = new ArrayList<Optional<String>>();
    do {
      skipBlanks();
      // A list may have empty elements (RFC 9110, section 5.6.1.2).
      if (!isAtEnd() && line.charAt(at) != ',') {
        clients.add(Optional.ofNullable(element().get("for")));
      }
    } while (take(','));
    if (!isAtEnd()) {
      throw new MalformedException();
    }
    return clients;
  }

  private Map<String, String> element() throws MalformedException {
    var parameters = new HashMap<String, String>();
    do {
      skipBlanks();
      if (!isAtEnd() && isTokenChar(line.charAt(at))) {
        var name = token().toLowerCase(Locale.ROOT);
        if (!take('=')) {
          throw new MalformedException();
        }
        if (parameters.put(name, take('"') ? quoted() : token()) != null) {
          throw new MalformedException();
        }
        skipBlanks();
      }
    } while (take(';'));
    return parameters;
  }

  private String token() throws MalformedException {
    int begin = at;
    while (!isAtEnd() && isTokenChar(line.charAt(at))) {
      at++;
    }
    if (at == begin) {
      throw new MalformedException();
    }
    return line.substring(begin, at);
  }

  /** What stands before the closing quote, which is read too. */
  private String quoted() throws MalformedException {
    var text = new StringBuilder();
    while (!take('"')) {
      take('\\');
      if (isAtEnd() || isControl(line.charAt(at))) {
        throw new MalformedException();
      }
      text.append(line.charAt(at++));
    }
    return text.toString();
  }

  private void skipBlanks() {
    while (take(' ') || take('\t')) {
      // all of them
    }
  }

  private boolean take(char wanted) {
    if (isAtEnd() || line.charAt(at) != wanted) {
      return false;
    }
    at++;
    return true;
  }

  private boolean isAtEnd() {
    return at == line.length();
  }

  private static boolean isTokenChar(char c) {
    return (c >= '0' && c <= '9')
        || (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || MARKS.indexOf(c) >= 0;
  }

  private static boolean isControl(char c) {
    return (c < ' ' && c != '\t') || c == 0x7F;
  }
}

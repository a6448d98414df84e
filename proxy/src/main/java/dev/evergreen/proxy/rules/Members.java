package dev.evergreen.proxy.rules;

import java.util.ArrayList;
import java.util.List;

/** The members of fields that are lists (RFC 9110 §5.6.1), which may be on several lines. */
final class Members {

  private static final String TOKEN_MARKS = "!#$%&'*+-.^_`|~";

  private Members() {}

  /**
   * The members, without the blanks around them and without empty ones. Quotes hide commas; one
   * that is not closed hides nothing, so that nothing behind it is lost.
   */
  static List<String> of(List<String> lines) {
    var members = withEmpty(lines);
    members.removeIf(String::isEmpty);
    return members;
  }

  /** The same with empty ones, which mean nothing only where a field is known to be a list. */
  static List<String> withEmpty(List<String> lines) {
    var members = new ArrayList<String>();
    for (var line : lines) {
      int begin = 0;
      boolean quoted = false;
      boolean quotes = true;
      for (int i = 0; i < line.length(); i++) {
        char c = line.charAt(i);
        if (quoted && c == '\\') {
          i++;
        } else if (c == '"' && quotes) {
          quotes = quoted || isClosed(line, i + 1);
          quoted = !quoted && quotes;
        } else if (c == ',' && !quoted) {
          members.add(trim(line.substring(begin, i)));
          begin = i + 1;
        }
      }
      members.add(trim(line.substring(begin)));
    }
    return members;
  }

  private static boolean isClosed(String line, int begin) {
    for (int i = begin; i < line.length(); i++) {
      if (line.charAt(i) == '"') {
        return true;
      }
      i += line.charAt(i) == '\\' ? 1 : 0;
    }
    return false;
  }

  /** Without the blanks and tabs around it (OWS). */
  static String trim(String text) {
    int begin = 0;
    int end = text.length();
    while (begin < end && isBlank(text.charAt(begin))) {
      begin++;
    }
    while (begin < end && isBlank(text.charAt(end - 1))) {
      end--;
    }
    return text.substring(begin, end);
  }

  private static boolean isBlank(char c) {
    return c == ' ' || c == '\t';
  }

  static boolean isToken(String text) {
    return !text.isEmpty() && tokenEnd(text) == text.length();
  }

  /** Where the token ends with which a text begins; 0 if it begins with none. */
  static int tokenEnd(String text) {
    int end = 0;
    while (end < text.length() && isTokenCharacter(text.charAt(end))) {
      end++;
    }
    return end;
  }

  private static boolean isTokenCharacter(int c) {
    return (c >= '0' && c <= '9')
        || (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || TOKEN_MARKS.indexOf(c) >= 0;
  }

  /** What a quoted string means; other text as it is. */
  static String unquote(String text) {
    if (text.length() < 2 || text.charAt(0) != '"' || !text.endsWith("\"")) {
      return text;
    }
    var meant = new StringBuilder();
    for (int i = 1; i < text.length() - 1; i++) {
      if (text.charAt(i) == '\\' && i < text.length() - 2) {
        i++;
      }
      meant.append(text.charAt(i));
    }
    return meant.toString();
  }

  /** A number of seconds (RFC 9111 §1.2.2), at most 2^31, or the other one if it is none. */
  static long seconds(String text, long otherwise) {
    if (text.isEmpty()) {
      return otherwise;
    }
    long seconds = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < '0' || c > '9') {
        return otherwise;
      }
      seconds = Math.min(10 * seconds + c - '0', CacheControl.LONGEST);
    }
    return seconds;
  }
}

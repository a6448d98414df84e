package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;

/**
 * Patterns of keys and channels: {@code *}, {@code ?}, {@code [a-z]}, {@code [^a]}, and a backslash
 * before what means itself. Looking takes no longer than the product of both lengths.
 */
final class Glob {
  private static final int NONE = -1;

  private final Bytes pattern;
  private final Bytes text;

  private Glob(Bytes pattern, Bytes text) {
    this.pattern = pattern;
    this.text = text;
  }

  static boolean matches(Bytes pattern, Bytes text) {
    return new Glob(pattern, text).matches();
  }

  private boolean matches() {
    int p = 0;
    int star = NONE;
    int afterStar = 0;
    for (int t = 0; t < text.length(); ) {
      if (p < pattern.length() && pattern.at(p) == '*') {
        // What an earlier star takes need not be tried again: this one can take it as well.
        star = p++;
        afterStar = t;
        continue;
      }
      int next = p < pattern.length() ? behind(p, text.at(t)) : NONE;
      if (next != NONE) {
        p = next;
        t++;
      } else if (star == NONE) {
        return false;
      } else {
        p = star + 1;
        t = ++afterStar;
      }
    }
    while (p < pattern.length() && pattern.at(p) == '*') {
      p++;
    }
    return p >= pattern.length();
  }

  /** The place in the pattern behind what stands there for one byte; or none if it is another. */
  private int behind(int p, int c) {
    int first = pattern.at(p);
    if (first == '[') {
      return behindSet(p, c);
    }
    if (first == '?') {
      return p + 1;
    }
    int at = first == '\\' && p + 1 < pattern.length() ? p + 1 : p;
    return pattern.at(at) == c ? at + 1 : NONE;
  }

  private int behindSet(int p, int c) {
    int end = p + 1;
    boolean not = end < pattern.length() && pattern.at(end) == '^';
    boolean found = false;
    end += not ? 1 : 0;
    while (end < pattern.length() && pattern.at(end) != ']') {
      boolean escaped = pattern.at(end) == '\\' && end + 1 < pattern.length();
      end += escaped ? 1 : 0;
      int from = pattern.at(end);
      boolean range = !escaped && end + 2 < pattern.length() && pattern.at(end + 1) == '-';
      int to = range ? pattern.at(end + 2) : from;
      found |= Math.min(from, to) <= c && c <= Math.max(from, to);
      end += range ? 3 : 1;
    }
    return found == not ? NONE : end + 1;
  }
}

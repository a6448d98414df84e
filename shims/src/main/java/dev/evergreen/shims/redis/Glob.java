package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;

/**
 * Patterns of keys and channels: {@code *}, {@code ?}, {@code [a-z]}, {@code [^a]}, and a backslash
 * before what means itself.
 */
final class Glob {
  private final Bytes pattern;
  private final Bytes text;

  private Glob(Bytes pattern, Bytes text) {
    this.pattern = pattern;
    this.text = text;
  }

  static boolean matches(Bytes pattern, Bytes text) {
    return new Glob(pattern, text).matches(0, 0);
  }

  private boolean matches(int p, int t) {
    while (p < pattern.length()) {
      int c = pattern.at(p);
      if (c == '*') {
        for (int rest = t; rest <= text.length(); rest++) {
          if (matches(p + 1, rest)) {
            return true;
          }
        }
        return false;
      }
      if (t == text.length()) {
        return false;
      }
      if (c == '[') {
        int end = p + 1;
        boolean not = end < pattern.length() && pattern.at(end) == '^';
        boolean found = false;
        end += not ? 1 : 0;
        while (end < pattern.length() && pattern.at(end) != ']') {
          int from = pattern.at(end);
          if (from == '\\' && end + 1 < pattern.length()) {
            from = pattern.at(++end);
          }
          boolean range = end + 2 < pattern.length() && pattern.at(end + 1) == '-';
          int to = range ? pattern.at(end + 2) : from;
          found |= Math.min(from, to) <= text.at(t) && text.at(t) <= Math.max(from, to);
          end += range ? 3 : 1;
        }
        if (found == not) {
          return false;
        }
        p = end + 1;
      } else {
        if (c == '\\' && p + 1 < pattern.length()) {
          c = pattern.at(++p);
        } else if (c == '?') {
          c = text.at(t);
        }
        if (c != text.at(t)) {
          return false;
        }
        p++;
      }
      t++;
    }
    return t == text.length();
  }
}

package dev.evergreen.chirper;

import java.util.Locale;

/** What may be the name of a user: 1 to 30 of a–z, 0–9 and '_'. Capital letters become small. */
final class Name {

  static final int LONGEST = 30;

  private Name() {}

  /**
   * The name as it is kept.
   *
   * @throws RefusedException if it is none
   */
  static String checked(String typed) {
    var name = typed.strip().toLowerCase(Locale.ROOT);
    if (name.isEmpty() || name.length() > LONGEST || !name.chars().allMatch(Name::allowed)) {
      throw new RefusedException(
          "A name has 1 to %d letters a–z, digits or underscores; “%s” is none."
              .formatted(LONGEST, shortened(typed)));
    }
    return name;
  }

  private static boolean allowed(int c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  }

  /** As it is told to people, who may have typed anything. */
  static String shortened(String text) {
    return text.length() <= LONGEST + 1 ? text : text.substring(0, LONGEST) + "…";
  }
}

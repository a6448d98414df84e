package dev.evergreen.proxy.rules;

import java.util.ArrayList;
import java.util.List;
import org.greenbytes.http.sfv.ParseException;
import org.greenbytes.http.sfv.Parser;
import org.greenbytes.http.sfv.StringItem;

/** The groups that a response belongs to, or invalidates (RFC 9875). */
public final class CacheGroups {

  /** How many are taken, where the RFC wants 32 at least. */
  public static final int MOST = 128;

  /** How long one may be, in characters, where the RFC wants 32 at least. */
  public static final int LONGEST = 256;

  private CacheGroups() {}

  /**
   * Reads a Cache-Groups or Cache-Group-Invalidation, which is a list of strings of structured
   * fields; parameters are ignored.
   *
   * @return the groups; none if the field is malformed or has other members than strings
   */
  public static List<String> of(List<String> lines) {
    if (lines.isEmpty()) {
      return List.of();
    }
    var groups = new ArrayList<String>();
    try {
      for (var member : new Parser(lines).parseList().get()) {
        if (!(member instanceof StringItem group)) {
          return List.of();
        }
        if (groups.size() < MOST && group.get().length() <= LONGEST) {
          groups.add(group.get());
        }
      }
    } catch (ParseException e) {
      return List.of();
    }
    return groups;
  }
}

package dev.evergreen.chirper;

import dev.evergreen.core.Grains;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.ReadOnly;
import java.util.List;

/**
 * A set of names of any size, in the order of the alphabet. Each grain is one page, for the names
 * of the set that begin with the page's prefix. Use the page without a prefix; it finds the others.
 * All operations are idempotent.
 */
public interface NameIndex extends KeyedGrain<NameIndex.Key> {

  /** Everyone who ever signed in or was imported. */
  static NameIndex people(Grains grains) {
    return grains.get(NameIndex.class, new Key("people", ""));
  }

  /** Those who follow a user. */
  static NameIndex followersOf(String user, Grains grains) {
    return grains.get(NameIndex.class, new Key("followers/" + user, ""));
  }

  /** How many names there are. */
  @ReadOnly
  int size();

  /** Whether a name is there. */
  @ReadOnly
  boolean contains(String name);

  /** The first names behind one that begin with {@code prefix}, in the order of the alphabet. */
  @ReadOnly
  List<String> find(String prefix, String behind, int most);

  /** Adds names. Returns how many there are then. */
  int add(List<String> names);

  /** Removes a name. Returns how many there are then. */
  int remove(String name);

  /** Makes these the only names of this page and of those below. Returns how many there are. */
  int fill(List<String> names);

  /**
   * A page.
   *
   * @param set which set
   * @param prefix what all names of the page begin with
   */
  record Key(String set, String prefix) {}
}

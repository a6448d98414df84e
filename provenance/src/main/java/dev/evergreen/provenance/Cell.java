package dev.evergreen.provenance;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;

/**
 * A place in a store where an answer can live, as a path from the whole store down: of Redis {@code
 * [database, key]} or {@code [database, key, "f", field]}. A cell contains all cells below it: who
 * writes a key writes its fields, and who empties a database writes all of its keys.
 *
 * <p>Cells are ordered so that a cell comes right before all those below it, and the bytes of
 * {@link #encoded} are in the same order. So an index of encoded cells finds everything below a
 * cell in one range: from {@code encoded()} up to {@link #end}, exclusive.
 */
public final class Cell implements Comparable<Cell> {
  /** The whole store. */
  public static final Cell ALL = new Cell(List.of());

  private final List<Bytes> path;

  /** Once somebody has asked for it; 0 before. */
  private int hash;

  private Cell(List<Bytes> path) {
    this.path = path;
  }

  /** The cell at a path of texts. */
  public static Cell of(String... path) {
    var cell = ALL;
    for (var step : path) {
      cell = cell.child(step);
    }
    return cell;
  }

  /** The cell of this name below this one. */
  public Cell child(Bytes name) {
    var longer = path.toArray(new Bytes[path.size() + 1]);
    longer[path.size()] = name;
    return new Cell(List.of(longer));
  }

  /** The cell of this name below this one. */
  public Cell child(String name) {
    return child(Bytes.of(name));
  }

  /** The names from the whole store down to this cell; none for the whole store. */
  public List<Bytes> path() {
    return path;
  }

  /** The last name of the path, which the whole store has not. */
  public Bytes name() {
    return path.getLast();
  }

  /** The cell that contains this one next. The whole store has none. */
  public Cell parent() {
    return new Cell(path.subList(0, path.size() - 1));
  }

  /** The cell that contains this one, or is it, with so many names in its path. */
  public Cell ancestor(int depth) {
    return depth == path.size() ? this : new Cell(path.subList(0, depth));
  }

  /**
   * The cells that contain this one, the whole store first and the nearest last; not this one
   * itself.
   */
  public List<Cell> ancestors() {
    var all = new ArrayList<Cell>(path.size());
    for (int depth = 0; depth < path.size(); depth++) {
      all.add(new Cell(path.subList(0, depth)));
    }
    return all;
  }

  /** Whether this cell is the other or contains it. */
  public boolean contains(Cell other) {
    if (path.size() > other.path.size()) {
      return false;
    }
    // From the end, as most cells that are compared differ in their last name.
    for (int i = path.size() - 1; i >= 0; i--) {
      if (!path.get(i).equals(other.path.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** Whether one of the two contains the other, so that who writes one may change the other. */
  public boolean overlaps(Cell other) {
    return contains(other) || other.contains(this);
  }

  /** Whether it overlaps with one of these. */
  boolean overlapsAny(NavigableSet<Cell> cells) {
    // Those within it come right behind it.
    var next = cells.ceiling(this);
    return (next != null && contains(next)) || isWithinAny(cells);
  }

  /** Whether it is one of these, or within one. */
  boolean isWithinAny(Set<Cell> cells) {
    return cells.contains(this) || ancestors().stream().anyMatch(cells::contains);
  }

  /**
   * The path as bytes, from which {@link #decode} makes it again. They begin with {@code 01}; each
   * name ends with {@code 00 01}, and a zero in it is followed by {@code FF}.
   */
  public byte[] encoded() {
    int length = 1;
    for (var step : path) {
      length += step.escapedLength() + 2;
    }
    var out = new byte[length];
    out[0] = 1;
    int at = 1;
    for (var step : path) {
      at = step.escapeTo(out, at);
      at++;
      out[at++] = 1;
    }
    return out;
  }

  /** The bytes behind those of all cells below this one: no cell has them. */
  public byte[] end() {
    var end = encoded();
    end[end.length - 1]++;
    return end;
  }

  /**
   * The cell of these bytes.
   *
   * @throws IllegalArgumentException if {@link #encoded} did not make them
   */
  public static Cell decode(byte[] encoded) {
    var path = new ArrayList<Bytes>();
    var step = new ByteArrayOutputStream();
    boolean inside = false;
    for (int i = 1; i < encoded.length; i++) {
      if (encoded[i] != 0) {
        step.write(encoded[i]);
        inside = true;
      } else if (++i < encoded.length && encoded[i] == 1) {
        path.add(Bytes.of(step.toByteArray()));
        step.reset();
        inside = false;
      } else if (i < encoded.length && encoded[i] == (byte) 0xFF) {
        step.write(0);
        inside = true;
      } else {
        throw new IllegalArgumentException(
            "no cell is encoded as " + java.util.HexFormat.of().formatHex(encoded));
      }
    }
    if (inside || encoded.length == 0 || encoded[0] != 1) {
      throw new IllegalArgumentException(
          "no cell is encoded as " + java.util.HexFormat.of().formatHex(encoded));
    }
    return new Cell(List.copyOf(path));
  }

  @Override
  public int compareTo(Cell other) {
    if (this == other) {
      return 0;
    }
    int mine = path.size();
    int theirs = other.path.size();
    for (int i = 0; i < mine && i < theirs; i++) {
      int order = path.get(i).compareTo(other.path.get(i));
      if (order != 0) {
        return order;
      }
    }
    return Integer.compare(mine, theirs);
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || (other instanceof Cell cell && path.size() == cell.path.size() && contains(cell));
  }

  @Override
  public int hashCode() {
    // Read once: another thread's write need not be seen by a second read.
    int known = hash;
    if (known == 0) {
      known = path.hashCode();
      hash = known;
    }
    return known;
  }

  @Override
  public String toString() {
    return path.isEmpty() ? "*" : String.join("/", path.stream().map(Bytes::text).toList());
  }
}

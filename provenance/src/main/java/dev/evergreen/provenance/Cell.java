package dev.evergreen.provenance;

import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.NavigableSet;
import java.util.NoSuchElementException;
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
  public static final Cell ALL = new Cell();

  /** The cell that contains this one next; the whole store itself for the whole store. */
  private final Cell parent;

  private final Bytes name;
  private final int depth;

  /** Once somebody has asked for it; 0 before. */
  private int hash;

  private Cell() {
    parent = this;
    name = Bytes.EMPTY;
    depth = 0;
  }

  private Cell(Cell parent, Bytes name) {
    this.parent = parent;
    this.name = name;
    this.depth = parent.depth + 1;
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
    return new Cell(this, name);
  }

  /** The cell of this name below this one. */
  public Cell child(String name) {
    return child(Bytes.of(name));
  }

  /** How many names are in its path; none for the whole store. */
  public int depth() {
    return depth;
  }

  /** The names from the whole store down to this cell; none for the whole store. */
  public List<Bytes> path() {
    var path = new Bytes[depth];
    for (var cell = this; cell.depth > 0; cell = cell.parent) {
      path[cell.depth - 1] = cell.name;
    }
    return List.of(path);
  }

  /**
   * The last name of the path.
   *
   * @throws NoSuchElementException for the whole store, which has none
   */
  public Bytes name() {
    return inside().name;
  }

  /**
   * The cell that contains this one next.
   *
   * @throws NoSuchElementException for the whole store, which is in none
   */
  public Cell parent() {
    return inside().parent;
  }

  private Cell inside() {
    if (depth == 0) {
      throw new NoSuchElementException("the whole store is in no cell");
    }
    return this;
  }

  /** The cell that contains this one, or is it, with so many names in its path. */
  public Cell ancestor(int depth) {
    if (depth < 0 || depth > this.depth) {
      throw new IllegalArgumentException("%s has no ancestor of %d names".formatted(this, depth));
    }
    var cell = this;
    while (cell.depth > depth) {
      cell = cell.parent;
    }
    return cell;
  }

  /**
   * The cells that contain this one, the whole store first and the nearest last; not this one
   * itself.
   */
  public List<Cell> ancestors() {
    var all = new Cell[depth];
    for (var cell = this; cell.depth > 0; cell = cell.parent) {
      all[cell.depth - 1] = cell.parent;
    }
    return List.of(all);
  }

  /** Whether this cell is the other or contains it. */
  public boolean contains(Cell other) {
    return depth <= other.depth && isSame(this, other.ancestor(depth));
  }

  /** Whether two cells with as many names are the same. Most differ in their last name. */
  @SuppressWarnings("ReferenceEquality") // all paths begin at the one whole store
  private static boolean isSame(Cell one, Cell other) {
    while (one != other) {
      if (!one.name.equals(other.name)) {
        return false;
      }
      one = one.parent;
      other = other.parent;
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
    for (var cell = this; cell.depth > 0; cell = cell.parent) {
      length += cell.name.escapedLength() + 2;
    }
    var out = new byte[length];
    out[0] = 1;
    int end = length;
    for (var cell = this; cell.depth > 0; cell = cell.parent) {
      out[end - 1] = 1;
      end -= cell.name.escapedLength() + 2;
      cell.name.escapeTo(out, end);
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
    var cell = ALL;
    var step = new ByteArrayOutputStream();
    boolean inside = false;
    for (int i = 1; i < encoded.length; i++) {
      if (encoded[i] != 0) {
        step.write(encoded[i]);
        inside = true;
      } else if (++i < encoded.length && encoded[i] == 1) {
        cell = cell.child(Bytes.of(step.toByteArray()));
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
    return cell;
  }

  @Override
  public int compareTo(Cell other) {
    int common = Math.min(depth, other.depth);
    int order = compare(ancestor(common), other.ancestor(common));
    return order == 0 ? Integer.compare(depth, other.depth) : order;
  }

  /** Compares two cells with as many names, by the first one in which they differ. */
  @SuppressWarnings("ReferenceEquality") // all paths begin at the one whole store
  private static int compare(Cell one, Cell other) {
    if (one == other) {
      return 0;
    }
    int order = compare(one.parent, other.parent);
    return order == 0 ? one.name.compareTo(other.name) : order;
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || (other instanceof Cell cell && depth == cell.depth && isSame(this, cell));
  }

  @Override
  public int hashCode() {
    // Read once: another thread's write need not be seen by a second read.
    int known = hash;
    if (known == 0 && depth > 0) {
      known = 31 * parent.hashCode() + name.hashCode();
      hash = known;
    }
    return known;
  }

  @Override
  public String toString() {
    return depth == 0 ? "*" : String.join("/", path().stream().map(Bytes::text).toList());
  }
}

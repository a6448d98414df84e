package dev.evergreen.codec;

import java.util.List;

/** The component names of a record as they are written; one instance per list in a codec. */
final class Layout {
  final List<String> names;

  /** What follows the zero of a new layout. */
  final byte[] definition;

  Layout(List<String> names) {
    this.names = names;
    var out = new Writer(new Limits(Integer.MAX_VALUE, 1));
    out.varint(names.size());
    names.forEach(out::text);
    this.definition = out.toBytes();
  }
}

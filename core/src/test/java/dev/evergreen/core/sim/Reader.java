package dev.evergreen.core.sim;

import java.util.List;

/** Where a program's numbers come from: grains, or a model of them. */
interface Reader {

  long read(Ref ref);

  /** As {@link #read}; may fail if that takes longer. */
  long readWithin(Ref ref, long nanos);

  void sleep(long nanos);

  /** What {@code refs} yield, in order; throws what the first that failed threw. */
  List<Long> readAll(List<Ref> refs);
}

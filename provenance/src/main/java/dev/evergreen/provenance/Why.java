package dev.evergreen.provenance;

/** Answers why a store answered as it did, from a trace and a specification. */
public final class Why {
  private final Specification specification;
  private final Trace trace;

  /** Questions about this trace of such a store. */
  public Why(Specification specification, Trace trace) {
    this.specification = specification;
    this.trace = trace;
  }

  /**
   * What is asked for.
   *
   * @param all every minimal witness, not one
   * @param witnesses the most witnesses that are given
   * @param part for an operation with parts, the number of the one that is asked about, from 0; -1
   *     for the whole operation
   */
  public record Wish(boolean all, int witnesses, int part) {
    /** One witness. */
    public static final Wish ONE = new Wish(false, 1, -1);

    /** All witnesses, up to 64. */
    public static final Wish ALL = new Wish(true, 64, -1);
  }

  /**
   * Why the operation's reply is as it is. Operations from the question's row on are no causes; a
   * question of now has a row above all others. If the question has no reply, it is answered what
   * the reply would be.
   */
  public Answer ask(Operation question, Wish wish) {
    throw new UnsupportedOperationException(
        specification.store() + " " + trace + " " + question + " " + wish);
  }
}

package dev.evergreen.provenance;

/**
 * What a {@link Model} or a specification cannot tell, as it depends on bytes for which there is
 * only the mark of a {@link Redactor}: on their length, their order, or the number that they are.
 */
@SuppressWarnings("serial") // it goes from a specification to whoever asks it, and no farther
public final class HiddenException extends UnsupportedOperationException {
  /** Says nothing more, as nothing more is known. */
  public HiddenException() {
    super("what is hidden decides");
  }

  /**
   * The bytes, which must be what they were when they were recorded.
   *
   * @throws HiddenException if some of them are a mark
   */
  public static Bytes refuseMarks(Bytes bytes) {
    if (Redactor.isMarked(bytes)) {
      throw new HiddenException();
    }
    return bytes;
  }
}

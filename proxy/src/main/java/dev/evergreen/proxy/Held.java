package dev.evergreen.proxy;

/** An answer that is closed here, unless somebody else takes it over. */
final class Held implements AutoCloseable {
  private final OriginAnswer answer;
  private boolean ours = true;

  Held(OriginAnswer answer) {
    this.answer = answer;
  }

  OriginAnswer get() {
    return answer;
  }

  OriginAnswer handOver() {
    ours = false;
    return answer;
  }

  /** From now on others can have its place at the origin. */
  void letGo() {
    if (ours) {
      ours = false;
      answer.close();
    }
  }

  @Override
  public void close() {
    letGo();
  }
}

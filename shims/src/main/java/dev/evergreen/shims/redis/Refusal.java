package dev.evergreen.shims.redis;

/** Redis answers with an error, whose first word this tells. */
@SuppressWarnings("serial") // it never leaves the run of one command
final class Refusal extends RuntimeException {
  private final String kind;

  Refusal(String kind) {
    super(kind, null, false, false);
    this.kind = kind;
  }

  Resp.Failure failure() {
    return new Resp.Failure(kind);
  }
}

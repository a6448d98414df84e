/** Waiting times between attempts: exponential with full jitter, so that many clients do not come back at once. */
export class Backoff {
  private attempt = 0;

  constructor(
    private readonly base: number,
    private readonly max: number,
    private readonly random: () => number,
  ) {}

  /** How long to wait before the next attempt, in milliseconds; at least `atLeast`. */
  next(atLeast = 0): number {
    const spread = Math.min(this.max, this.base * 2 ** this.attempt);
    this.attempt = Math.min(this.attempt + 1, 30);
    return atLeast + this.random() * Math.max(spread, atLeast);
  }

  /** The last attempt succeeded. */
  reset(): void {
    this.attempt = 0;
  }
}

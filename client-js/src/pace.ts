/** How much may be sent in a while: so much a second, and what was not used is saved up to a limit. */
export class Pace {
  private left: number;
  private at = performance.now();

  constructor(
    private readonly perSecond: number,
    private readonly most: number,
  ) {
    this.left = most;
  }

  /** How much may be sent now. */
  available(): number {
    const now = performance.now();
    this.left = Math.min(this.most, this.left + ((now - this.at) * this.perSecond) / 1_000);
    this.at = now;
    return this.left;
  }

  use(amount: number): void {
    this.left = this.available() - amount;
  }

  /** In how many milliseconds one more may be sent. */
  wait(): number {
    return Math.max(0, Math.ceil(((1 - this.available()) * 1_000) / this.perSecond));
  }
}

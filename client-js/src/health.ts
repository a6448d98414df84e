import { GRACE, type Shared } from "./shared.js";
import type { ConnectionState, Freshness } from "./types.js";

const RANK: Record<Freshness, number> = { live: 0, "in-doubt": 1, offline: 2 };

/**
 * How fresh all that is watched is together. What is offline is said to be so only after a while: a page that loads, or signs
 * in, or turns to another server, is offline for a moment.
 */
export class Health {
  private outage: "offline" | "in-doubt" | undefined;
  private grace: ReturnType<typeof setInterval> | undefined;
  private expected = false;

  constructor(
    private readonly watched: () => Iterable<Shared>,
    private readonly state: () => ConnectionState,
    private readonly changed: () => void,
  ) {}

  /** The least fresh; undefined when there is nothing to say. */
  freshness(): Freshness | undefined {
    const worst = this.worst();
    return worst === "offline" ? this.outage : worst;
  }

  /** Something that is watched has changed. Many do at once; only what they come to counts. */
  review(): void {
    if (!this.expected) {
      this.expected = true;
      queueMicrotask(() => {
        this.expected = false;
        this.look();
      });
    }
  }

  /** Begins anew, as after a change of the caller: that is no outage, unless it takes as long as one. */
  reset(): void {
    this.stop();
    this.outage = undefined;
    this.review();
  }

  stop(): void {
    clearInterval(this.grace);
    this.grace = undefined;
  }

  private look(): void {
    if (this.worst() === "offline") {
      this.grace ??= setInterval(() => this.blame(), GRACE);
    } else {
      this.stop();
      this.outage = undefined;
    }
    this.changed();
  }

  /**
   * Whether the connection is the reason. Otherwise it was just asked for, or asked again of another server, which takes its
   * time when others have to recover first.
   */
  private blame(): void {
    const outdated = [...this.watched()].some(({ told }) => told.freshness === "offline" && told.value !== undefined);
    this.outage = this.state() !== "open" ? "offline" : outdated ? "in-doubt" : undefined;
    this.changed();
  }

  private worst(): Freshness | undefined {
    let found: Freshness | undefined;
    for (const shared of this.watched()) {
      const freshness = freshnessOf(shared);
      if (freshness !== undefined && (found === undefined || RANK[freshness] > RANK[found])) {
        found = freshness;
      }
    }
    return found;
  }
}

function freshnessOf({ told }: Shared): Freshness | undefined {
  if (told.freshness === "offline") {
    return "offline";
  }
  return told.loading ? undefined : told.error === undefined ? told.freshness : "in-doubt";
}

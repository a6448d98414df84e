import type { Backoff } from "./backoff.js";
import { toError, type SubscriptionMessage } from "./protocol.js";
import type { Freshness, LiveError, Snapshot } from "./types.js";

/** What is known of a view before anything has arrived. */
export const INITIAL: Snapshot<never> = Object.freeze({
  value: undefined,
  error: undefined,
  loading: true,
  freshness: "offline" as Freshness,
  tag: undefined,
  ended: false,
});

/** One subscription, shared by everything that watches the same view with the same parameters. */
export class Shared {
  snapshot: Snapshot<unknown> = INITIAL;
  uses = 0;
  keepTimer: ReturnType<typeof setTimeout> | undefined;
  retryTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  /** What the last message said; shown only while connected. */
  private heard: Freshness = "offline";

  constructor(
    readonly id: number,
    readonly key: string,
    readonly view: string,
    readonly params: Readonly<Record<string, unknown>>,
    /** Between attempts at being let in. */
    readonly backoff: Backoff,
  ) {}

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Takes in what the server said; true when it was the end. */
  take(message: SubscriptionMessage): void {
    switch (message.type) {
      case "result":
        this.show(message.freshness, { value: message.value, error: undefined, loading: false, tag: message.tag });
        break;
      case "error":
        this.show(message.freshness, { error: toError(message.error), loading: false, tag: message.tag });
        break;
      case "unchanged":
      case "freshness":
        this.show(message.freshness, {});
        break;
      case "end":
        this.end(toError(message.error), false);
    }
  }

  private show(freshness: "current" | "in-doubt", change: Partial<Snapshot<unknown>>): void {
    this.backoff.reset();
    this.heard = freshness === "current" ? "live" : "in-doubt";
    this.change({ ...change, freshness: this.heard });
  }

  /** Whether the connection still is one is not known. */
  doubt(): void {
    this.change({ freshness: "offline" });
  }

  /** It is; nothing had been missed. */
  trust(): void {
    this.change({ freshness: this.heard });
  }

  /** The connection is lost: what is shown may be outdated. */
  offline(): void {
    this.heard = "offline";
    this.change({ freshness: "offline" });
  }

  /** The server gives nothing more: for now, or for good. */
  end(error: LiveError | undefined, forGood: boolean): void {
    this.heard = "offline";
    this.change({ error, loading: false, tag: undefined, freshness: "offline", ended: forGood });
  }

  /** Forgets everything, as after a change of the caller. */
  forget(): void {
    this.heard = "offline";
    if (this.snapshot !== INITIAL) {
      this.snapshot = INITIAL;
      this.notify();
    }
  }

  stopTimers(): void {
    clearTimeout(this.keepTimer);
    clearTimeout(this.retryTimer);
    this.keepTimer = undefined;
    this.retryTimer = undefined;
  }

  private change(change: Partial<Snapshot<unknown>>): void {
    const next = { ...this.snapshot, ...change };
    const names = Object.keys(next) as (keyof Snapshot<unknown>)[];
    if (names.every((name) => next[name] === this.snapshot[name])) {
      return;
    }
    this.snapshot = Object.freeze(next);
    this.notify();
  }

  private notify(): void {
    for (const listener of [...this.listeners]) {
      listener();
    }
  }
}

import type { Backoff } from "./backoff.js";
import { applied } from "./delta.js";
import { toError, type SubscriptionMessage } from "./protocol.js";
import type { Freshness, LiveError, Snapshot } from "./types.js";

/** So long without a result, in milliseconds, and it is an outage: less is nothing that people need to know. */
export const GRACE = 1_000;

/** What the server has said of a view. */
export interface Told {
  readonly value: unknown;
  readonly error: LiveError | undefined;
  readonly loading: boolean;
  readonly freshness: Freshness;
  readonly tag: string | undefined;
  readonly ended: boolean;
}

const NOTHING: Told = Object.freeze({
  value: undefined,
  error: undefined,
  loading: true,
  freshness: "offline" as Freshness,
  tag: undefined,
  ended: false,
});

/** What is known of a view before anything has arrived. */
export const INITIAL: Snapshot<never> = snapshotOf(NOTHING, undefined) as Snapshot<never>;

/** What is known of a view that is not asked for. */
export const SKIPPED: Snapshot<never> = Object.freeze({ ...INITIAL, status: "skipped", loading: false } as Snapshot<never>);

function snapshotOf(told: Told, shown: unknown): Snapshot<unknown> {
  const status = told.loading ? "loading" : told.error !== undefined ? "failed" : "value";
  const pending = shown !== told.value;
  return Object.freeze({ ...told, status, value: shown, pending, previous: false } as Snapshot<unknown>);
}

/** Calls a listener. What it throws is an uncaught error, and nothing to who tells it or to the other listeners. */
export function tell(listener: () => void): void {
  try {
    listener();
  } catch (failure) {
    queueMicrotask(() => {
      throw failure;
    });
  }
}

/** One subscription, shared by everything that watches the same view with the same parameters. */
export class Shared {
  told: Told = NOTHING;
  snapshot: Snapshot<unknown> = INITIAL;
  uses = 0;
  /** Whether anybody ever used it: what came with the page lies here until then. */
  asked = false;
  keepTimer: ReturnType<typeof setTimeout> | undefined;
  retryTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  /** Runs while a word of this view is expected from what took another connection's place. */
  private wordTimer: ReturnType<typeof setTimeout> | undefined;

  /** What the last message said; shown only while connected. */
  private heard: Freshness = "offline";

  constructor(
    readonly id: number,
    readonly key: string,
    readonly view: string,
    readonly params: Readonly<Record<string, unknown>>,
    /** Between attempts at being let in. */
    readonly backoff: Backoff,
    /** What is shown instead of a value of the server. */
    private readonly shown: (shared: Shared, value: unknown) => unknown,
  ) {}

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Begins with a result that came with the page. */
  begin(tag: string, value: unknown): void {
    this.change({ value, tag, loading: false });
  }

  /** Takes in what the server said. */
  take(message: SubscriptionMessage): void {
    switch (message.type) {
      case "result":
        this.show(message.freshness, { value: message.value, error: undefined, loading: false, tag: message.tag });
        break;
      case "delta": {
        const value = applied(message.delta, this.told.value);
        this.show(message.freshness, { value, error: undefined, loading: false, tag: message.tag });
        break;
      }
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

  private show(freshness: "current" | "in-doubt", change: Partial<Told>): void {
    this.backoff.reset();
    this.hear(freshness === "current" ? "live" : "in-doubt");
    this.change({ ...change, freshness: this.heard });
  }

  /** Whether the connection still is one is not known. */
  doubt(): void {
    this.change({ freshness: "offline" });
  }

  /** It is; nothing had been missed, unless it is another one. */
  trust(): void {
    if (this.wordTimer === undefined) {
      this.change({ freshness: this.heard });
    }
  }

  /**
   * Another connection has taken the place of the last one. That it is there says nothing of this view: its server may have to
   * wait before it can. Until it does, what the last one said holds for a moment only.
   */
  expectWord(): void {
    this.wordTimer ??= setTimeout(() => this.offline(), GRACE);
  }

  private hear(heard: Freshness): void {
    clearTimeout(this.wordTimer);
    this.wordTimer = undefined;
    this.heard = heard;
  }

  /** The connection is lost: what is shown may be outdated. */
  offline(): void {
    this.hear("offline");
    this.change({ freshness: "offline" });
  }

  /** The server gives nothing more: for now, or for good. */
  end(error: LiveError, forGood: boolean): void {
    this.hear("offline");
    this.change({ error, loading: false, tag: undefined, freshness: "offline", ended: forGood });
  }

  /** Forgets everything, as after a change of the caller. */
  forget(): void {
    this.hear("offline");
    if (this.told !== NOTHING) {
      this.told = NOTHING;
      this.snapshot = INITIAL;
      this.notify();
    }
  }

  /** Says no longer to the server what it has. */
  forgetTag(): void {
    this.change({ tag: undefined });
  }

  stopTimers(): void {
    clearTimeout(this.keepTimer);
    clearTimeout(this.retryTimer);
    clearTimeout(this.wordTimer);
    this.wordTimer = undefined;
    this.keepTimer = undefined;
    this.retryTimer = undefined;
  }

  private change(change: Partial<Told>): void {
    const next = { ...this.told, ...change };
    const names = Object.keys(next) as (keyof Told)[];
    if (names.some((name) => next[name] !== this.told[name])) {
      this.told = Object.freeze(next);
      this.showAgain();
    }
  }

  /** Something is assumed of the value, or no longer. */
  showAgain(): void {
    const { value } = this.told;
    this.snapshot = snapshotOf(this.told, value === undefined ? undefined : this.shown(this, value));
    this.notify();
  }

  private notify(): void {
    for (const listener of [...this.listeners]) {
      tell(listener);
    }
  }
}

import type { SubscriptionMessage, WireError } from "./protocol.js";
import type { Shared } from "./shared.js";

/** One attempt at being connected: from its making until `closed`, which comes exactly once unless `stop` does. */
export interface Transport {
  add(shared: Shared): void;
  remove(shared: Shared): void;
  /** Somebody uses what nobody used, or the other way round: there may be room for others, or others must make it. */
  review(): void;
  /** Finds out soon whether the server is still there. */
  probe(): void;
  /** Ends it without further events. */
  stop(): void;
}

/** Hears what a transport has to say. */
export interface TransportEvents {
  /** The server has spoken; subscriptions are being asked for. */
  opened(): void;
  message(shared: Shared, message: SubscriptionMessage): void;
  /** There is no room for others as long as this is watched, which nobody uses any more. */
  unused(shared: Shared): void;
  /** The server has said nothing when it should have; it is being asked. */
  doubted(): void;
  /** The server has spoken again after a doubt. */
  assured(): void;
  /**
   * It is over.
   *
   * @param heard whether the server had answered at all
   * @param retryAfter the least time in milliseconds before another attempt
   */
  closed(heard: boolean, retryAfter: number): void;
}

/**
 * So long, in milliseconds, may what is no longer wanted wait for more of it: views that are hidden together go one by one.
 */
export const GATHER = 20;

/** What one view too many is told; it is asked for when another has left. */
export function tooMany(most: number): WireError {
  return { type: TOO_MANY, message: `One connection watches at most ${most} views.`, status: 429 };
}

export const TOO_MANY = "too-many-subscriptions";

/** What a view is told whose parameters are longer than the server lets a message be. */
export function tooLong(most: number): WireError {
  return { type: "too-large", message: `A message is at most ${most} bytes long.`, status: 413 };
}

/** Silence for this many heartbeats is doubtful. */
const DOUBT = 1.3;

/** So long may an answer to a probe take, in heartbeats, and in milliseconds at most. */
const ANSWER = 1.2;
const ANSWER_WITHIN = 5_000;

/** Until the server has said how often it gives a sign of life, in milliseconds: it may have to wait before. */
const FIRST_SIGN_WITHIN = 20_000;

/**
 * Notices when the server has said nothing for too long: first it is doubted and asked, then it is taken to be gone. A
 * computer that slept notices when it wakes, by `probe`.
 */
export class Silence {
  private heartbeat: number | undefined;
  private doubting: ReturnType<typeof setTimeout> | undefined;

  /** Runs while an answer is awaited. */
  private ending: ReturnType<typeof setTimeout> | undefined;
  private lastHeard = 0;
  private doubted = false;

  constructor(
    private readonly events: Pick<TransportEvents, "doubted" | "assured">,
    /** Has the server say something. */
    private readonly ask: () => void,
    private readonly gone: () => void,
  ) {}

  /** The server was asked for what it may let wait for its turn: longer than for an answer, and doubted no later. */
  expectFirst(): void {
    this.goneAfter(FIRST_SIGN_WITHIN);
  }

  /** The server gives a sign of life at least this often, in milliseconds. */
  expectEvery(heartbeat: number): void {
    this.heartbeat = heartbeat;
    this.heard();
  }

  heard(): void {
    this.lastHeard = Date.now();
    if (this.heartbeat !== undefined) {
      this.clear();
      // A timer may be early by a fraction.
      this.doubting = setTimeout(() => this.probe(), Math.ceil(this.heartbeat * DOUBT) + 1);
    }
    if (this.doubted) {
      this.doubted = false;
      this.events.assured();
    }
  }

  probe(): void {
    if (this.heartbeat === undefined) {
      return;
    }
    const asks = this.ending === undefined;
    if (asks) {
      this.goneAfter(Math.min(this.heartbeat * ANSWER, ANSWER_WITHIN));
    }
    if (!this.doubted && Date.now() - this.lastHeard >= this.heartbeat * DOUBT) {
      this.doubted = true;
      this.events.doubted();
    }
    if (asks) {
      this.ask();
    }
  }

  /** Nothing is expected any more. */
  stop(): void {
    this.clear();
    this.heartbeat = undefined;
  }

  private goneAfter(milliseconds: number): void {
    clearTimeout(this.ending);
    this.ending = setTimeout(this.gone, milliseconds);
  }

  private clear(): void {
    clearTimeout(this.doubting);
    clearTimeout(this.ending);
    this.ending = undefined;
  }
}

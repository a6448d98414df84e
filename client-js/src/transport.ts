import type { SubscriptionMessage } from "./protocol.js";
import type { Shared } from "./shared.js";

/** One attempt at being connected: from its making until `closed`, which comes exactly once unless `stop` does. */
export interface Transport {
  add(shared: Shared): void;
  remove(shared: Shared): void;
  /** Ends it without further events. */
  stop(): void;
}

/** Hears what a transport has to say. */
export interface TransportEvents {
  /** The server has spoken; subscriptions are being asked for. */
  opened(): void;
  message(shared: Shared, message: SubscriptionMessage): void;
  /**
   * It is over.
   *
   * @param heard whether the server had answered at all
   * @param retryAfter the least time in milliseconds before another attempt
   */
  closed(heard: boolean, retryAfter: number): void;
}

/** Silence for this many heartbeats means that the server is gone. */
const PATIENCE = 2.5;

/** Until the server has said how often it gives a sign of life, in milliseconds. */
const FIRST_SIGN_WITHIN = 10_000;

/** Notices when the server has said nothing for too long. */
export class Silence {
  private heartbeat = FIRST_SIGN_WITHIN / PATIENCE;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly tooLong: () => void) {
    this.heard();
  }

  /** The server gives a sign of life at least this often, in milliseconds. */
  expectEvery(heartbeat: number): void {
    this.heartbeat = heartbeat;
  }

  heard(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.tooLong, this.heartbeat * PATIENCE);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

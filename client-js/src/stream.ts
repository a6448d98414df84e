import { isPassing, pauseOf, problemOf, WITH_DELTAS, type ServerMessage } from "./protocol.js";
import type { Shared } from "./shared.js";
import { GATHER, Silence, tooMany, TOO_MANY, type Transport, type TransportEvents } from "./transport.js";

/**
 * One event stream for all subscriptions, for networks that let no WebSocket through: browsers have six connections to a
 * server, for all pages together. When other views are wanted, another stream takes its place, and says only what is new; not before
 * it has begun, as the server may have it wait, and the other one would wait anew.
 */
export class StreamTransport implements Transport {
  private readonly wanted = new Map<number, Shared>();
  private current: AbortController | undefined;

  /** What the current one was asked for. */
  private asked: readonly Shared[] = [];

  /** Of all streams, one after the other: what takes a place is expected to speak as early as what had it. */
  private readonly silence: Silence;
  private renewal: ReturnType<typeof setTimeout> | undefined;

  /** How long the renewal that is due waits, in milliseconds. */
  private pause = 0;

  /** Whether the current one has begun, and whether another is to take its place as soon as it has. */
  private begun = false;
  private outdated = false;
  private most = Infinity;

  /** How long a request may be, in bytes: what servers take unless they say otherwise. */
  private mostBytes = 16_384;
  private opened = false;
  private over = false;

  constructor(
    private readonly base: URL,
    private readonly fetchFrom: typeof fetch,
    private readonly events: TransportEvents,
  ) {
    // A stream cannot be asked anything. Another one in its place tells, and misses nothing.
    this.silence = new Silence(
      events,
      () => this.renew(),
      () => this.current?.abort(),
    );
  }

  add(shared: Shared): void {
    this.wanted.set(shared.id, shared);
    this.renewSoon();
  }

  remove(shared: Shared): void {
    if (this.wanted.delete(shared.id)) {
      this.renewSoon(GATHER);
    }
  }

  review(): void {
    const refused = [...this.wanted.values()].some(({ uses, snapshot }) => uses > 0 && snapshot.error?.type === TOO_MANY);
    if (refused && this.fitting().some((shared) => shared.uses > 0 && !this.asked.includes(shared))) {
      this.renewSoon();
    }
  }

  probe(): void {
    this.silence.probe();
  }

  stop(): void {
    this.over = true;
    this.silence.stop();
    clearTimeout(this.renewal);
    this.wanted.clear();
    this.current?.abort();
  }

  private fail(retryAfter: number): void {
    if (!this.over) {
      this.stop();
      this.events.closed(this.opened, retryAfter);
    }
  }

  /** What is wanted in one go is asked for together, at once; what is only left out may wait for that. */
  private renewSoon(pause = 0): void {
    if (this.over || (this.renewal !== undefined && pause >= this.pause)) {
      return;
    }
    clearTimeout(this.renewal);
    this.pause = pause;
    this.renewal = setTimeout(() => this.renew(), pause);
  }

  /**
   * The first of those that are wanted, those that somebody uses before others, as many as the server takes; the very first in
   * any case, so that it says why not.
   */
  private fitting(): Shared[] {
    const encoder = new TextEncoder();
    const asked: Shared[] = [];
    let bytes = encoder.encode(body([])).length;
    const used = [...this.wanted.values()].sort((a, b) => Number(b.uses > 0) - Number(a.uses > 0));
    for (const shared of used) {
      bytes += encoder.encode(JSON.stringify(wish(shared))).length + 1;
      if (asked.length > 0 && (asked.length >= this.most || bytes > this.mostBytes)) {
        break;
      }
      asked.push(shared);
    }
    return asked;
  }

  private renew(): void {
    this.cancelRenewal();
    this.outdated = this.current !== undefined && !this.begun;
    if (this.outdated) {
      return;
    }
    this.current?.abort();
    this.current = undefined;
    this.begun = false;
    const asked = this.fitting();
    this.asked = asked;
    const others = [...this.wanted.values()].filter((shared) => !asked.includes(shared));
    others.filter(({ uses }) => uses === 0).forEach((shared) => this.events.unused(shared));
    this.cancelRenewal(); // What goes by that needs no other stream than this.
    others.filter(({ uses }) => uses > 0).forEach((shared) => this.tellTooMany(shared));
    if (asked.length > 0 && !this.over) {
      const abort = new AbortController();
      this.current = abort;
      this.silence.expectFirst();
      void this.follow(asked, abort);
    } else {
      this.silence.stop();
    }
  }

  private cancelRenewal(): void {
    clearTimeout(this.renewal);
    this.renewal = undefined;
  }

  private tellTooMany(shared: Shared): void {
    if (shared.snapshot.error?.type !== TOO_MANY) {
      shared.take({ type: "end", error: tooMany(Math.min(this.most, this.wanted.size - 1)) });
    }
  }

  private async follow(asked: readonly Shared[], abort: AbortController): Promise<void> {
    let retryAfter = 0;
    try {
      const response = await this.open(asked, abort.signal);
      if (!response.ok || response.body === null) {
        const error = await problemOf(response);
        if (isPassing(error)) {
          retryAfter = pauseOf(response); // Nobody is there, or has room: that is no answer to what was asked.
        } else if (this.current === abort) {
          this.current = undefined;
          this.silence.heard();
          this.silence.stop();
          this.greet();
          asked.forEach((shared) => this.deliver(shared, { type: "end", error }));
          this.renewSoon();
        }
        return;
      }
      for await (const message of messages(response.body)) {
        if (this.current !== abort) {
          return;
        }
        if (message.type === "hello") {
          this.most = message.maxSubscriptions ?? Infinity;
          this.mostBytes = message.maxMessageBytes ?? this.mostBytes;
          asked.filter(({ id }) => this.wanted.has(id)).forEach((shared) => shared.expectWord());
          this.silence.expectEvery(message.heartbeat);
          this.begun = true;
          this.greet();
          if (this.outdated) {
            this.renewSoon();
          }
          continue;
        }
        this.silence.heard();
        if (message.type === "bye") {
          retryAfter = message.retryAfter;
        } else if (message.type !== "heartbeat") {
          const shared = this.wanted.get(message.id ?? -1);
          if (shared !== undefined) {
            this.deliver(shared, message);
          }
        }
      }
    } catch {
      // A broken stream and a stream that has ended are the same: see below.
    } finally {
      if (this.current === abort) {
        this.fail(retryAfter);
      }
    }
  }

  private open(asked: readonly Shared[], signal: AbortSignal): Promise<Response> {
    return this.fetchFrom(new URL(WITH_DELTAS, this.base).href, {
      method: "POST",
      headers: { Accept: "text/event-stream", "Content-Type": "application/json" },
      body: body(asked),
      credentials: "include",
      cache: "no-store",
      signal,
    });
  }

  private deliver(shared: Shared, message: Exclude<ServerMessage, { type: "hello" | "heartbeat" | "bye" }>): void {
    if (message.type === "end" && message.error.type === TOO_MANY) {
      this.tellTooMany(shared); // It stays wanted: another that leaves makes room.
      this.asked = this.asked.filter((one) => one !== shared);
      return;
    }
    if (message.type === "end") {
      this.wanted.delete(shared.id);
    }
    this.events.message(shared, message);
  }

  private greet(): void {
    if (!this.over && !this.opened) {
      this.opened = true;
      this.events.opened();
    }
  }
}

function body(asked: readonly Shared[]): string {
  return JSON.stringify({ subscribe: asked.map(wish) });
}

function wish({ id, view, params, snapshot: { tag } }: Shared): object {
  return { id, view, params, ...(tag === undefined ? {} : { have: tag }) };
}

/** The messages of an event stream; every event of ours is one line of data. */
async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerMessage> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    text += value;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data: ")) {
        yield JSON.parse(line.slice(6)) as ServerMessage;
      }
    }
  }
}

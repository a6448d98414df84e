import { problemOf, type ServerMessage } from "./protocol.js";
import type { Shared } from "./shared.js";
import { Silence, type Transport, type TransportEvents } from "./transport.js";

/**
 * One event stream for each subscription, for networks that let no WebSocket through. When one stream breaks, all
 * are taken to be broken: they go to the same server.
 */
export class StreamTransport implements Transport {
  private readonly running = new Map<Shared, AbortController>();
  private opened = false;
  private over = false;

  constructor(
    private readonly base: URL,
    private readonly fetchFrom: typeof fetch,
    private readonly events: TransportEvents,
  ) {}

  add(shared: Shared): void {
    const abort = new AbortController();
    this.running.set(shared, abort);
    void this.follow(shared, abort);
  }

  remove(shared: Shared): void {
    this.running.get(shared)?.abort();
    this.running.delete(shared);
  }

  stop(): void {
    this.over = true;
    this.running.forEach((abort) => abort.abort());
    this.running.clear();
  }

  private fail(retryAfter: number): void {
    if (!this.over) {
      this.stop();
      this.events.closed(this.opened, retryAfter);
    }
  }

  private async follow(shared: Shared, abort: AbortController): Promise<void> {
    const silence = new Silence(() => abort.abort());
    let retryAfter = 0;
    try {
      const response = await this.fetchFrom(this.address(shared), {
        headers: {
          Accept: "text/event-stream",
          ...(shared.snapshot.tag === undefined ? {} : { "Last-Event-ID": shared.snapshot.tag }),
        },
        credentials: "include",
        cache: "no-store",
        signal: abort.signal,
      });
      if (!response.ok || response.body === null) {
        const error = await problemOf(response);
        this.greet();
        this.running.delete(shared);
        this.events.message(shared, { type: "end", error });
        return;
      }
      for await (const message of messages(response.body)) {
        silence.heard();
        if (message.type === "hello") {
          silence.expectEvery(message.heartbeat);
          silence.heard();
          this.greet();
        } else if (message.type === "bye") {
          retryAfter = message.retryAfter;
        } else if (message.type !== "heartbeat" && this.running.get(shared) === abort) {
          if (message.type === "end") {
            this.running.delete(shared);
          }
          this.events.message(shared, message);
        }
      }
    } catch {
      // A broken stream and a stream that has ended are the same: see below.
    } finally {
      silence.stop();
      if (this.running.get(shared) === abort) {
        this.fail(retryAfter);
      }
    }
  }

  private greet(): void {
    if (!this.opened && !this.over) {
      this.opened = true;
      this.events.opened();
    }
  }

  private address(shared: Shared): string {
    const url = new URL(`live/${encodeURIComponent(shared.view)}`, this.base);
    for (const [name, value] of Object.entries(shared.params)) {
      if (value !== undefined && value !== null) {
        url.searchParams.set(name, typeof value === "string" ? value : JSON.stringify(value));
      }
    }
    return url.href;
  }
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

import type { ServerMessage } from "./protocol.js";
import type { Shared } from "./shared.js";
import { Silence, tooLong, tooMany, TOO_MANY, type Transport, type TransportEvents } from "./transport.js";

/** One WebSocket for all subscriptions, as many as the server allows; others wait until one has left. */
export class SocketTransport implements Transport {
  private readonly socket: WebSocket | undefined;
  private readonly shared = new Map<number, Shared>();
  private readonly asked = new Set<number>();
  private readonly silence: Silence;
  private outgoing: object[] = [];
  private heartbeat = 0;
  private most = Infinity;

  /** How long a message may be; 0 if the server does not say, which takes none with several in it then. */
  private mostBytes = 0;
  private lastSent = 0;
  private greeted = false;
  private over = false;
  private retryAfter = 0;

  constructor(
    url: string,
    make: (url: string) => WebSocket,
    private readonly events: TransportEvents,
  ) {
    this.silence = new Silence(
      events,
      () => this.send({ type: this.mostBytes > 0 ? "ping" : "heartbeat" }),
      () => this.finish(),
    );
    try {
      this.socket = make(url);
      this.socket.onmessage = (event) => this.receive(event.data);
      this.socket.onclose = () => this.finish();
      this.socket.onerror = () => this.finish();
    } catch {
      // A browser throws where a page may not connect, as from https to http: no other failure than that of an attempt.
      queueMicrotask(() => this.finish());
    }
  }

  add(shared: Shared): void {
    this.shared.set(shared.id, shared);
    this.askForMore();
  }

  remove(shared: Shared): void {
    this.shared.delete(shared.id);
    if (this.asked.delete(shared.id)) {
      this.send({ type: "unsubscribe", id: shared.id });
      this.askForMore();
    }
  }

  probe(): void {
    this.silence.probe();
  }

  stop(): void {
    this.over = true;
    this.silence.stop();
    if (this.socket !== undefined) {
      // A socket that is still connecting fails its own closing; that is no news.
      this.socket.onerror = () => undefined;
      this.socket.onclose = () => undefined;
      this.socket.onmessage = () => undefined;
      this.socket.close(1000);
    }
  }

  private finish(): void {
    if (!this.over) {
      this.stop();
      this.events.closed(this.greeted, this.retryAfter);
    }
  }

  /** Asks for what is not asked for yet, as far as the server lets one connection. */
  private askForMore(): void {
    if (!this.greeted) {
      return;
    }
    for (const shared of this.shared.values()) {
      if (this.asked.has(shared.id)) {
        continue;
      }
      if (this.asked.size < this.most) {
        this.subscribe(shared);
      } else if (shared.snapshot.error?.type !== TOO_MANY) {
        shared.take({ type: "end", error: tooMany(this.most) });
      }
    }
  }

  private subscribe(shared: Shared): void {
    const { id, view, params, snapshot } = shared;
    const message = { type: "subscribe", id, view, params };
    const resuming = snapshot.tag === undefined ? message : { ...message, have: snapshot.tag };
    const fitting = [resuming, message].find((one) => this.fits(one));
    if (fitting === undefined) {
      // The server would end the connection, and with it all other views, each time anew.
      this.shared.delete(id);
      this.events.message(shared, { type: "end", error: tooLong(this.mostBytes) });
    } else {
      this.asked.add(id);
      this.send(fitting);
    }
  }

  private fits(message: object): boolean {
    return this.mostBytes === 0 || bytesOf(JSON.stringify(message)) <= this.mostBytes;
  }

  /** What is sent in one go travels together. */
  private send(message: object): void {
    this.lastSent = Date.now();
    if (this.outgoing.push(message) === 1) {
      queueMicrotask(() => this.flush());
    }
  }

  private flush(): void {
    const messages = this.outgoing.map((message) => JSON.stringify(message));
    this.outgoing = [];
    if (this.over) {
      return;
    }
    for (const text of this.mostBytes > 0 ? packed(messages, this.mostBytes) : messages) {
      this.socket?.send(text);
    }
  }

  private receive(data: unknown): void {
    if (this.over) {
      return;
    }
    this.silence.heard();
    let message: ServerMessage;
    try {
      message = JSON.parse(String(data)) as ServerMessage;
    } catch {
      this.finish(); // That is no server of ours.
      return;
    }
    switch (message.type) {
      case "hello":
        this.most = message.maxSubscriptions ?? Infinity;
        this.mostBytes = message.maxMessageBytes ?? 0;
        this.greet(message.heartbeat);
        break;
      case "heartbeat":
        this.signOfLife(this.heartbeat / 2);
        break;
      case "bye":
        this.retryAfter = message.retryAfter;
        break;
      default:
        this.signOfLife(this.heartbeat);
        this.deliver(message);
    }
  }

  /** Timers of hidden pages may sleep for a minute, arriving messages do not: so these set the pace. */
  private signOfLife(afterSilenceOf: number): void {
    if (Date.now() - this.lastSent >= afterSilenceOf) {
      this.send({ type: "heartbeat" });
    }
  }

  private greet(heartbeat: number): void {
    this.heartbeat = heartbeat;
    this.greeted = true;
    this.silence.expectEvery(heartbeat);
    this.events.opened();
    this.askForMore();
  }

  private deliver(message: Exclude<ServerMessage, { type: "hello" | "heartbeat" | "bye" }>): void {
    const shared = this.shared.get(message.id ?? -1);
    if (shared === undefined) {
      return;
    }
    if (message.type === "end") {
      this.shared.delete(shared.id);
      this.asked.delete(shared.id);
      this.askForMore();
    }
    this.events.message(shared, message);
  }
}

/** So many messages a server takes in one. */
const MOST_IN_ONE = 1_000;

/** The messages as few texts: one as it is, several as an array, none longer than `most` bytes. */
function* packed(messages: string[], most: number): Generator<string> {
  let batch: string[] = [];
  let bytes = 1;
  for (const message of messages) {
    const size = bytesOf(message) + 1;
    if (batch.length > 0 && (bytes + size > most || batch.length === MOST_IN_ONE)) {
      yield wrapped(batch);
      batch = [];
      bytes = 1;
    }
    batch.push(message);
    bytes += size;
  }
  if (batch.length > 0) {
    yield wrapped(batch);
  }
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function wrapped(batch: string[]): string {
  return batch.length === 1 ? (batch[0] ?? "") : `[${batch.join(",")}]`;
}

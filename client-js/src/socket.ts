import { Pace } from "./pace.js";
import type { ServerMessage } from "./protocol.js";
import type { Shared } from "./shared.js";
import { GATHER, Silence, tooLong, tooMany, TOO_MANY, type Transport, type TransportEvents } from "./transport.js";

/** How many messages a second a server takes that does not say so. */
const USUAL_RATE = 20;

/** One WebSocket for all subscriptions, as many as the server allows; others wait until one has left. */
export class SocketTransport implements Transport {
  private readonly socket: WebSocket | undefined;
  private readonly shared = new Set<Shared>();

  /**
   * What is asked for, by the ids that the server knows: another one each time, so that nothing that is still on its way is
   * taken for an answer to what is asked after it.
   */
  private readonly asked = new Map<number, Shared>();
  private readonly ids = new Map<Shared, number>();
  private nextId = 1;
  private readonly silence: Silence;
  private outgoing: Outgoing[] = [];
  private sending: ReturnType<typeof setTimeout> | undefined;
  private sendsSoon = false;

  /** Of messages, and of what several in one are; before the server has said how many it takes there are none to count. */
  private messages = new Pace(USUAL_RATE, Infinity);
  private entries = new Pace(USUAL_RATE, Infinity);
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
      () => this.sendFirst({ type: this.mostBytes > 0 ? "ping" : "heartbeat" }),
      () => this.finish(),
    );
    this.silence.expectFirst();
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
    this.shared.add(shared);
    this.askForMore();
  }

  remove(shared: Shared): void {
    this.shared.delete(shared);
    const id = this.forget(shared);
    if (id !== undefined) {
      this.unsubscribe(id);
      this.askForMore();
    }
  }

  /** It is asked for no longer; by which id it was. */
  private forget(shared: Shared): number | undefined {
    const id = this.ids.get(shared);
    if (id !== undefined) {
      this.ids.delete(shared);
      this.asked.delete(id);
    }
    return id;
  }

  review(): void {
    this.askForMore();
  }

  private unsubscribe(id: number): void {
    const unsaid = this.outgoing.findIndex((message) => message.type === "subscribe" && message.id === id);
    if (unsaid >= 0) {
      this.outgoing.splice(unsaid, 1);
    } else {
      this.outgoing.push({ type: "unsubscribe", id });
      this.sending ??= setTimeout(() => this.flush(), GATHER);
    }
  }

  probe(): void {
    this.silence.probe();
  }

  stop(): void {
    this.over = true;
    this.silence.stop();
    clearTimeout(this.sending);
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
    if (!this.greeted || this.asked.size === this.shared.size) {
      return;
    }
    for (const shared of this.shared) {
      if (!this.ids.has(shared) && this.asked.size >= this.most && shared.uses > 0) {
        this.makeRoom();
      }
      if (this.ids.has(shared)) {
        continue; // maybe by what has made room
      }
      if (this.asked.size < this.most) {
        this.subscribe(shared);
      } else if (shared.snapshot.error?.type !== TOO_MANY) {
        shared.take({ type: "end", error: tooMany(this.most) });
      }
    }
  }

  /** Has one go that nobody uses any more, if there is one. */
  private makeRoom(): void {
    const kept = [...this.asked.values()].find(({ uses }) => uses === 0);
    if (kept !== undefined) {
      this.events.unused(kept);
    }
  }

  private subscribe(shared: Shared): void {
    const { view, params, snapshot } = shared;
    const id = this.nextId++;
    const message = { type: "subscribe", id, view, params } as const;
    const resuming = snapshot.tag === undefined ? message : { ...message, have: snapshot.tag };
    const fitting = [resuming, message].find((one) => this.fits(one));
    if (fitting === undefined) {
      // The server would end the connection, and with it all other views, each time anew.
      this.shared.delete(shared);
      this.events.message(shared, { type: "end", error: tooLong(this.mostBytes) });
    } else {
      this.asked.set(id, shared);
      this.ids.set(shared, id);
      this.send(fitting);
    }
  }

  private fits(message: object): boolean {
    return this.mostBytes === 0 || bytesOf(JSON.stringify(message)) <= this.mostBytes;
  }

  private send(message: Outgoing): void {
    this.outgoing.push(message);
    this.flushSoon();
  }

  /** Says that it is alive, or asks whether the server is: before what may have to wait. */
  private sendFirst(message: Outgoing): void {
    this.outgoing.unshift(message);
    this.lastSent = Date.now();
    this.flushSoon();
  }

  /** What is sent in one go travels together. */
  private flushSoon(): void {
    if (!this.sendsSoon) {
      this.sendsSoon = true;
      queueMicrotask(() => this.flush());
    }
  }

  /** As far as the server takes it now; the rest a little later, with what has come to it by then. */
  private flush(): void {
    this.sendsSoon = false;
    clearTimeout(this.sending);
    this.sending = undefined;
    while (!this.over && this.outgoing.length > 0) {
      const wait = Math.max(this.messages.wait(), this.entries.wait());
      if (wait > 0) {
        this.sending = setTimeout(() => this.flush(), wait);
        return;
      }
      this.sendSome();
    }
  }

  /** The first of what is to be sent, as one message. */
  private sendSome(): void {
    const most = this.mostBytes > 0 ? Math.min(MOST_IN_ONE, Math.floor(this.entries.available())) : 1;
    const batch = fitting(this.outgoing.slice(0, most).map((message) => JSON.stringify(message)), this.mostBytes);
    this.outgoing.splice(0, batch.length);
    this.messages.use(1);
    this.entries.use(batch.length);
    this.lastSent = Date.now();
    this.socket?.send(batch.length === 1 ? (batch[0] ?? "") : `[${batch.join(",")}]`);
  }

  private receive(data: unknown): void {
    if (this.over) {
      return;
    }
    this.silence.heard();
    const message = parsed(String(data));
    if (message === undefined) {
      this.finish(); // That is no server of ours.
      return;
    }
    switch (message.type) {
      case "hello":
        this.most = message.maxSubscriptions ?? Infinity;
        this.mostBytes = message.maxMessageBytes ?? 0;
        this.keepPace(message.rate ?? USUAL_RATE);
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
      this.sendFirst({ type: "heartbeat" });
    }
  }

  /** Half of what the server takes on average over ten seconds: what is on its way for as long arrives with what is sent next. */
  private keepPace(rate: number): void {
    this.messages = new Pace(rate / 2, rate * 5);
    if (this.most !== Infinity) {
      const entries = Math.max(rate, this.most / 2);
      this.entries = new Pace(entries / 2, entries * 5);
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
    const shared = this.asked.get(message.id ?? -1);
    if (shared === undefined) {
      return;
    }
    if (message.type === "end") {
      this.shared.delete(shared);
      this.forget(shared);
      this.askForMore();
    }
    this.events.message(shared, message);
  }
}

function parsed(text: string): ServerMessage | undefined {
  try {
    return (JSON.parse(text) as ServerMessage | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** So many messages a server takes in one. */
const MOST_IN_ONE = 1_000;

/** What a client says. */
type Outgoing =
  | { type: "subscribe"; id: number; view: string; params: Readonly<Record<string, unknown>>; have?: string }
  | { type: "unsubscribe"; id: number }
  | { type: "heartbeat" | "ping" };

/** The first of the messages, and those after it that make an array of no more than `most` bytes with it. */
function fitting(messages: string[], most: number): string[] {
  let bytes = 1;
  const tooLong = messages.findIndex((message, i) => {
    bytes += bytesOf(message) + 1;
    return i > 0 && bytes > most;
  });
  return tooLong < 0 ? messages : messages.slice(0, tooLong);
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

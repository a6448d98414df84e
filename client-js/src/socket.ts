import type { ServerMessage } from "./protocol.js";
import type { Shared } from "./shared.js";
import { Silence, type Transport, type TransportEvents } from "./transport.js";

/** One WebSocket for all subscriptions. */
export class SocketTransport implements Transport {
  private readonly socket: WebSocket;
  private readonly shared = new Map<number, Shared>();
  private readonly silence: Silence;
  private heartbeat = 0;
  private lastSent = 0;
  private greeted = false;
  private over = false;
  private retryAfter = 0;

  constructor(
    url: string,
    make: (url: string) => WebSocket,
    private readonly events: TransportEvents,
  ) {
    this.socket = make(url);
    this.silence = new Silence(() => this.finish());
    this.socket.onmessage = (event) => this.receive(event.data);
    this.socket.onclose = () => this.finish();
    this.socket.onerror = () => this.finish();
  }

  add(shared: Shared): void {
    this.shared.set(shared.id, shared);
    if (this.greeted) {
      this.subscribe(shared);
    }
  }

  remove(shared: Shared): void {
    if (this.shared.delete(shared.id) && this.greeted) {
      this.send({ type: "unsubscribe", id: shared.id });
    }
  }

  stop(): void {
    this.over = true;
    this.silence.stop();
    // A socket that is still connecting fails its own closing; that is no news.
    this.socket.onerror = () => undefined;
    this.socket.onclose = () => undefined;
    this.socket.onmessage = () => undefined;
    this.socket.close(1000);
  }

  private finish(): void {
    if (!this.over) {
      this.stop();
      this.events.closed(this.greeted, this.retryAfter);
    }
  }

  private subscribe(shared: Shared): void {
    const { tag } = shared.snapshot;
    this.send({
      type: "subscribe",
      id: shared.id,
      view: shared.view,
      params: shared.params,
      ...(tag === undefined ? {} : { have: tag }),
    });
  }

  private send(message: object): void {
    this.lastSent = Date.now();
    this.socket.send(JSON.stringify(message));
  }

  private receive(data: unknown): void {
    if (this.over) {
      return;
    }
    this.silence.heard();
    const message = JSON.parse(String(data)) as ServerMessage;
    switch (message.type) {
      case "hello":
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
    this.silence.heard();
    this.events.opened();
    this.shared.forEach((shared) => this.subscribe(shared));
  }

  private deliver(message: Exclude<ServerMessage, { type: "hello" | "heartbeat" | "bye" }>): void {
    const shared = this.shared.get(message.id ?? -1);
    if (shared !== undefined) {
      if (message.type === "end") {
        this.shared.delete(shared.id);
      }
      this.events.message(shared, message);
    }
  }
}

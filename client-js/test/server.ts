import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket as Peer } from "ws";

export interface Subscribe {
  type: "subscribe" | "unsubscribe";
  id: number;
  view: string;
  params: Record<string, unknown>;
  have?: string;
}

type Received = Subscribe | { type: "heartbeat" | "ping" };

/** One end of a connection as the test's server sees it. */
export class Connection {
  private readonly waiting: ((message: Received) => void)[] = [];
  private readonly received: Received[] = [];
  /** Of the frames that have come, in bytes. */
  readonly lengths: number[] = [];

  constructor(readonly peer: Peer) {
    peer.on("message", (data: Buffer) => {
      this.lengths.push(data.length);
      [JSON.parse(data.toString()) as Received | Received[]].flat().forEach((message) => this.take(message));
    });
  }

  private take(message: Received): void {
    const next = this.waiting.shift();
    if (next === undefined) {
      this.received.push(message);
    } else {
      next(message);
    }
  }

  /** The next message of the client. */
  next(): Promise<Received> {
    const message = this.received.shift();
    return message === undefined
      ? new Promise((resolve) => this.waiting.push(resolve))
      : Promise.resolve(message);
  }

  async subscribed(): Promise<Subscribe> {
    const message = await this.next();
    if (message.type !== "subscribe") {
      throw new Error(`Expected a subscription, got ${JSON.stringify(message)}`);
    }
    return message;
  }

  /** How many messages have come that nobody took. */
  get untaken(): number {
    return this.received.length;
  }

  say(message: object): void {
    this.peer.send(JSON.stringify(message));
  }

  result(id: number, tag: string, value: unknown, freshness = "current"): void {
    this.say({ type: "result", id, tag, freshness, value });
  }
}

/** A server that speaks the protocol by hand, over real sockets. */
export class TestServer {
  readonly connections: Connection[] = [];
  private readonly waiting: ((connection: Connection) => void)[] = [];
  private readonly untaken: Connection[] = [];
  private http: Server;
  private sockets: WebSocketServer | undefined;
  port = 0;
  onRequest: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => {
    response.writeHead(404).end();
  };

  private constructor(private readonly hello: object) {
    this.http = this.newHttp();
  }

  static async start(
    options: { heartbeat?: number; maxSubscriptions?: number; maxMessageBytes?: number; rate?: number; webSockets?: boolean } = {},
  ): Promise<TestServer> {
    const { webSockets = true, ...said } = options;
    const server = new TestServer({ type: "hello", protocol: 1, heartbeat: 15_000, ...said });
    await server.listen(webSockets);
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  private newHttp(): Server {
    return createServer((request, response) => this.onRequest(request, response));
  }

  async listen(webSockets = true): Promise<void> {
    if (webSockets) {
      this.sockets = new WebSocketServer({ server: this.http, path: "/live" });
      this.sockets.on("connection", (peer) => {
        const connection = new Connection(peer);
        this.connections.push(connection);
        connection.say(this.hello);
        const next = this.waiting.shift();
        if (next === undefined) {
          this.untaken.push(connection);
        } else {
          next(connection);
        }
      });
    }
    await new Promise<void>((resolve) => this.http.listen(this.port, "127.0.0.1", resolve));
    this.port = (this.http.address() as AddressInfo).port;
  }

  /** The next connection that opens. */
  connection(): Promise<Connection> {
    const connection = this.untaken.shift();
    return connection === undefined
      ? new Promise((resolve) => this.waiting.push(resolve))
      : Promise.resolve(connection);
  }

  /** Goes away without a word; `listen` comes back at the same port. */
  async stop(): Promise<void> {
    this.connections.forEach(({ peer }) => peer.terminate());
    this.sockets?.close();
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
    this.http = this.newHttp();
  }
}

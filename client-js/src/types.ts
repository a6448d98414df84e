/**
 * The views of an application. Declare yours once and everything is typed:
 *
 * ```ts
 * declare module "@evergreen/client" {
 *   interface Views {
 *     timeline: { params: { user: string; limit?: number }; result: Chirp[] };
 *   }
 * }
 * ```
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface Views {}

/** The commands of an application, declared in the same way: `post: { command: {text: string}; result: void }`. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface Commands {}

/** A view's name. Any string as long as no views are declared. */
export type ViewName = [keyof Views] extends [never] ? string : keyof Views & string;

/** The parameters of a view. */
export type ParamsOf<V extends string> = V extends keyof Views
  ? Views[V] extends { params: infer P }
    ? P
    : Record<string, never>
  : Record<string, unknown>;

/** The result of a view. */
export type ResultOf<V extends string> = V extends keyof Views
  ? Views[V] extends { result: infer R }
    ? R
    : unknown
  : unknown;

/** A command's name. Any string as long as no commands are declared. */
export type CommandName = [keyof Commands] extends [never] ? string : keyof Commands & string;

/** What a command takes. */
export type CommandOf<C extends string> = C extends keyof Commands
  ? Commands[C] extends { command: infer P }
    ? P
    : Record<string, never>
  : Record<string, unknown>;

/** What a command answers. */
export type AnswerOf<C extends string> = C extends keyof Commands
  ? Commands[C] extends { result: infer R }
    ? R
    : void
  : unknown;

/**
 * Whether a result is known to be current.
 *
 * - `live`: connected, and the server hears of everything the result was computed from.
 * - `in-doubt`: connected, but something the result was computed from has failed or is not heard of.
 * - `offline`: not connected; the client keeps trying.
 */
export type Freshness = "live" | "in-doubt" | "offline";

/** A failure, as the server tells it. */
export class LiveError extends Error {
  override readonly name = "LiveError";

  /**
   * @param type a short name for programs, such as `timeout`, `forbidden`, `bad-params`
   * @param message for people
   * @param status the HTTP status that fits
   */
  constructor(
    readonly type: string,
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** What a snapshot says whatever its status. */
export interface Standing {
  readonly freshness: Freshness;
  /** Identifies the result; the same tag is the same result. */
  readonly tag: string | undefined;
  /** Whether the subscription has ended for good: refused by the server, or the client was closed. */
  readonly ended: boolean;
  /** Whether the value holds what a command is assumed to do: see `CommandOptions.optimistic`. */
  readonly pending: boolean;
  /** Whether the value is of the former parameters, while these load: see `keepPrevious` of the hook. */
  readonly previous: boolean;
}

/** The present state of a watched view, told apart by `status`. */
export type Snapshot<R> = Standing &
  (
    | { readonly status: "skipped"; readonly value: undefined; readonly error: undefined; readonly loading: false }
    | { readonly status: "loading"; readonly value: undefined; readonly error: undefined; readonly loading: true }
    | { readonly status: "value"; readonly value: R; readonly error: undefined; readonly loading: false }
    /** With the last value, if there was one: it stays while an error stands. */
    | { readonly status: "failed"; readonly value: R | undefined; readonly error: LiveError; readonly loading: false }
  );

/** Options of one use of a view. */
export interface LiveOptions {
  /** Ends this use when it aborts. */
  signal?: AbortSignal;
}

/**
 * A view being watched. As an async iterable it yields the latest value, then the latest each time it
 * differs; values that came while the loop was busy are skipped, never queued. An error of the view is
 * thrown by the loop; use `subscribe` where watching shall go on past errors.
 */
export interface Live<R> extends AsyncIterable<R> {
  /**
   * Calls `listener` with the present snapshot in a microtask and then whenever it changes. Errors are values in
   * the snapshot.
   *
   * @returns ends this use
   */
  subscribe(listener: (snapshot: Snapshot<R>) => void): () => void;

  /** The present snapshot: the same object until something changes. */
  snapshot(): Snapshot<R>;

  /** Watches until there is a value or an error. The same promise until then, so that React may wait for it. */
  arrived(): Promise<void>;
}

/** What a command is assumed to do to the values of a view. It changes nothing in a value that already has it. */
export type Effects<C extends string> = {
  readonly [V in ViewName]?: (value: ResultOf<V>, command: CommandOf<C>, params: ParamsOf<V>) => ResultOf<V>;
};

/** Options of giving a command. */
export interface CommandOptions<C extends string> extends LiveOptions {
  /**
   * What views show until they have it from the server, by their names. It is taken back when the command fails, and when no
   * result bears it out within ten seconds of the answer.
   */
  optimistic?: Effects<C>;
}

/** A result that came with the page. */
export interface FirstResult {
  view: string;
  params: Record<string, unknown>;
  tag: string;
  value: unknown;
}

/** Settings of a client; durations in milliseconds. */
export interface ClientOptions {
  /** The address of the server's root; the page's origin by default. */
  url?: string | URL;
  /** `auto` (default): WebSocket, and event streams where there is no WebSocket or none can be opened. */
  transport?: "auto" | "websocket" | "sse";
  /** How long to wait at most before the first reconnect; doubled each time. 500 by default. */
  reconnectBase?: number;
  /** The most that `reconnectBase` grows to. 30,000 by default. */
  reconnectMax?: number;
  /** How long to keep a subscription that nobody uses any more. 1,000 by default. */
  keepFor?: number;
  /** How long to keep the connection open when nothing is subscribed. 10,000 by default. */
  keepConnectionFor?: number;
  /** How long a command may take; then it fails with `no-answer`. 30,000 by default. */
  commandWithin?: number;
  /**
   * Whether a command that was not answered is given once more when the client has turned to another server meanwhile, and
   * again while a proxy says that it does not reach its server. Only where every command may be carried out twice. False by default.
   */
  repeatCommands?: boolean;
  /** Results to begin with; those that the server has put into the page by default. */
  first?: readonly FirstResult[];
  /** Makes WebSockets; the global `WebSocket` by default, which Node has from version 22 on. */
  webSocket?: (url: string) => WebSocket;
  /** Fetches; the global `fetch` by default. */
  fetch?: typeof fetch;
  /** A random number from 0 to 1; for tests. */
  random?: () => number;
}

/**
 * The state of the connection. While it is `probing`, the server has said nothing when it should have and is being asked;
 * views are `offline` then.
 */
export type ConnectionState = "idle" | "connecting" | "open" | "probing" | "waiting" | "closed";

/** How a client and all that is watched through it are. */
export interface Connection {
  readonly state: ConnectionState;
  readonly url: string;
  /**
   * The least fresh of all that is watched. What has been offline for less than a second is not told yet; undefined when there
   * is nothing to say.
   */
  readonly freshness: Freshness | undefined;
}

/** One connection to one server, shared by everything that watches through it. */
export interface Client {
  /** Watches a view. The same view and parameters watched twice share one subscription. */
  live<V extends ViewName>(view: V, params: ParamsOf<V>, options?: LiveOptions): Live<ResultOf<V>>;

  /**
   * Gives a command and waits for its answer, as long as the option `commandWithin` says. Repeated only when the server says
   * that it was too busy to begin: when there is no answer, whether it took effect is unknown.
   *
   * @throws LiveError if the server refuses, and when the client is closed
   */
  command<C extends CommandName>(name: C, command: CommandOf<C>, options?: CommandOptions<C>): Promise<AnswerOf<C>>;

  /**
   * Drops the connection and opens it anew at once, for instance after signing in or out: views are authorised
   * anew, and values of before are forgotten.
   */
  reconnect(): void;

  /**
   * Tries at once to connect when the client waits between two attempts, for instance when somebody presses a button;
   * otherwise nothing. Values stay. The client does so by itself when the network is back or the page is looked at; one
   * that is connected then asks whether the server is still there.
   */
  retry(): void;

  /**
   * Says where else the same views and commands are served. When the connection is lost, or cannot be made, the
   * client goes on to the next of all these addresses, values stay, and commands go there too. Without a connection,
   * as nothing is live, a command that is not answered turns the client to the next.
   *
   * @param urls roots of servers, as the option `url`; they replace those given before
   */
  alsoAt(...urls: readonly (string | URL)[]): void;

  /** The root of the server that the client uses now, with a slash at its end. */
  readonly url: string;

  /** The state of the connection. */
  readonly state: ConnectionState;

  /** State, address and freshness together: the same object until something changes. */
  readonly connection: () => Connection;

  /**
   * Calls `listener` whenever `connection()` has changed.
   *
   * @returns ends that
   */
  readonly onChange: (listener: () => void) => () => void;

  /** How often everything was forgotten, by `reconnect`: values of different eras may be of different callers. */
  readonly era: number;

  /** Ends everything; snapshots say `ended`, and commands under way fail with `closed`. */
  close(): void;
}

import { Backoff } from "./backoff.js";
import { Health } from "./health.js";
import { Assumptions } from "./optimistic.js";
import {
  isOfProxy,
  isPassing,
  isUndone,
  pauseOf,
  problemOf,
  stableJson,
  toError,
  WITH_DELTAS,
  type SubscriptionMessage,
} from "./protocol.js";
import { INITIAL, Shared, tell } from "./shared.js";
import { SocketTransport } from "./socket.js";
import { StreamTransport } from "./stream.js";
import { GATHER, type Transport, type TransportEvents } from "./transport.js";
import {
  LiveError,
  type AnswerOf,
  type Client,
  type ClientOptions,
  type CommandName,
  type CommandOf,
  type CommandOptions,
  type Connection,
  type ConnectionState,
  type FirstResult,
  type Live,
  type LiveOptions,
  type ParamsOf,
  type ResultOf,
  type Snapshot,
  type ViewName,
} from "./types.js";

/** So many WebSockets in a row that never opened though the server answers, and event streams are tried. */
const SOCKETS_BEFORE_STREAMS = 2;

/** A connection that was open for so long, in milliseconds, was no failed attempt. */
const LASTING = 10_000;

/** So long, in milliseconds, what React waited for is kept for the component that shows it: React takes its time with that. */
const UNTIL_SHOWN = 5_000;

const NO_ANSWER = "no-answer";

/** When a page may have slept, or the network may be another. */
const WAKING = ["online", "offline", "focus", "pageshow"] as const;

/** A client of the server at `options.url`. It connects when the first view is watched. */
export function createClient(options: ClientOptions = {}): Client {
  return new LiveClient(options);
}

let ofThisPage: Client | undefined;

/** The client of the page's own origin, made at the first use. */
export function defaultClient(): Client {
  ofThisPage ??= createClient();
  return ofThisPage;
}

/** Watches a view of the page's own origin: `defaultClient().live(view, params, options)`. */
export function live<V extends ViewName>(view: V, params: ParamsOf<V>, options?: LiveOptions): Live<ResultOf<V>> {
  return defaultClient().live(view, params, options);
}

class LiveClient implements Client, TransportEvents {
  era = 0;
  private now: ConnectionState = "idle";
  private known: Connection;
  private readonly listeners = new Set<() => void>();
  private readonly assumptions = new Assumptions(() => this.shared.values());
  private readonly health = new Health(
    () => this.watched(),
    () => this.now,
    () => this.review(),
  );
  private readonly first = new Map<string, FirstResult>();
  private readonly arriving = new Map<string, Promise<void>>();
  private readonly shownLater = new Set<ReturnType<typeof setTimeout>>();
  private readonly shared = new Map<string, Shared>();
  private readonly backoff: Backoff;
  private readonly options: Required<ClientOptions>;
  /** The server in use, and after it those to turn to, in this order. */
  private base: URL;
  private others: URL[] = [];
  private transport: Transport | undefined;
  private reconnectTimer: ReturnType<typeof setTimeout> | undefined;
  private idleTimer: ReturnType<typeof setTimeout> | undefined;
  private reviewTimer: ReturnType<typeof setTimeout> | undefined;
  private nextId = 1;
  private openedAt = 0;

  /** Aborts when the client is closed. */
  private readonly end = new AbortController();

  /** Aborts what is asked between two attempts: later its answer is of no use, and a browser has few connections to a server. */
  private untilNextAttempt = new AbortController();

  /** WebSockets that failed though the server answers, since one last worked. */
  private failedSockets = 0;
  private usesStreams: boolean;

  /** False in Node before version 22, unless the options bring one. */
  private readonly hasSockets: boolean;

  constructor(options: ClientOptions) {
    this.options = {
      url: options.url ?? pageRoot(),
      transport: options.transport ?? "auto",
      reconnectBase: options.reconnectBase ?? 500,
      reconnectMax: options.reconnectMax ?? 30_000,
      keepFor: options.keepFor ?? 1_000,
      keepConnectionFor: options.keepConnectionFor ?? 10_000,
      commandWithin: options.commandWithin ?? 30_000,
      repeatCommands: options.repeatCommands ?? false,
      first: options.first ?? ofThePage(),
      webSocket: options.webSocket ?? ((url) => new WebSocket(url)),
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      random: options.random ?? Math.random,
    };
    this.base = rootOf(this.options.url);
    this.known = { state: this.now, url: this.base.href, freshness: undefined };
    this.options.first.forEach((result) => this.first.set(keyOf(result.view, result.params), result));
    this.hasSockets = options.webSocket !== undefined || globalThis.WebSocket !== undefined;
    if (!this.hasSockets && this.options.transport === "websocket") {
      throw new LiveError(
        "no-web-socket",
        "There is no WebSocket here: give one by the option 'webSocket', or leave out 'transport' to use event streams.",
        0,
      );
    }
    this.usesStreams = this.options.transport === "sse" || !this.hasSockets;
    this.backoff = this.newBackoff();
    WAKING.forEach((event) => globalThis.addEventListener?.(event, this.hurry));
    globalThis.document?.addEventListener("visibilitychange", this.hurry);
  }

  live<V extends ViewName>(view: V, params: ParamsOf<V>, options: LiveOptions = {}): Live<ResultOf<V>> {
    return new LiveView<ResultOf<V>>(this, view, params as Readonly<Record<string, unknown>>, options.signal);
  }

  get state(): ConnectionState {
    return this.now;
  }

  private set state(next: ConnectionState) {
    this.now = next;
    this.review();
  }

  readonly connection = (): Connection => this.known;

  readonly onChange = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Tells what has changed of the connection, if anything. */
  private review(): void {
    const { state, url } = this;
    const freshness = this.health.freshness();
    if (state !== this.known.state || url !== this.known.url || freshness !== this.known.freshness) {
      this.known = Object.freeze({ state, url, freshness });
      [...this.listeners].forEach((listener) => tell(listener));
    }
  }

  private *watched(): Generator<Shared> {
    if (this.now === "closed") {
      return;
    }
    for (const shared of this.shared.values()) {
      if (shared.uses > 0) {
        yield shared;
      }
    }
  }

  async command<C extends CommandName>(
    name: C,
    command: CommandOf<C>,
    { optimistic, signal }: CommandOptions<C> = {},
  ): Promise<AnswerOf<C>> {
    const effects = Object.entries(optimistic ?? {}) as [string, Effect][];
    const assumed = this.assumptions.assume(
      Object.fromEntries(effects.map(([view, of]) => [view, (value, params) => of(value, command, params)])),
    );
    try {
      const answer = await this.giveUntilDone(name, command, signal);
      assumed.answered();
      return answer as AnswerOf<C>;
    } catch (failure) {
      assumed.drop();
      throw failure;
    }
  }

  /** Gives a command again where that can do no harm: when it was certainly not carried out, or may be carried out twice. */
  private async giveUntilDone(name: string, command: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    const deadline = Date.now() + this.options.commandWithin;
    const backoff = this.newBackoff();
    const { era } = this; // Whoever is signed in later has not given it.
    for (let turns = 0; ; ) {
      const asked = this.url;
      try {
        return await this.give(name, command, deadline - Date.now(), signal);
      } catch (failure) {
        const turned = isNoAnswer(failure) && this.options.repeatCommands && this.url !== asked && turns++ === 0;
        if (!turned && !(failure instanceof Passing)) {
          throw failure;
        }
        const pause = turned ? 0 : backoff.next((failure as Passing).pause);
        if (Date.now() + pause >= deadline || !(await this.paused(pause, signal)) || this.era !== era) {
          throw failure;
        }
      }
    }
  }

  /** Waits; false if this was ended meanwhile. */
  private paused(milliseconds: number, signal: AbortSignal | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const signals = [this.end.signal, signal];
      const over = (): void => {
        clearTimeout(timer);
        signals.forEach((of) => of?.removeEventListener("abort", over));
        resolve(signals.every((of) => of?.aborted !== true));
      };
      const timer = setTimeout(over, milliseconds);
      signals.forEach((of) => of?.addEventListener("abort", over));
    });
  }

  private async give(name: string, command: unknown, within: number, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    if (this.now === "closed") {
      throw closedError();
    }
    const body = JSON.stringify(command); // What cannot be written is a fault of the application's, and was never sent.
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    const timer = setTimeout(abort, within);
    const signals = [this.end.signal, signal];
    signals.forEach((of) => of?.addEventListener("abort", abort));
    // Not every fetch that an application gives hears its signal.
    const stopped = new Promise<never>((_, reject) => stop.signal.addEventListener("abort", () => reject(stop.signal.reason)));
    try {
      return await Promise.race([this.answer(name, body, stop.signal), stopped]);
    } catch (failure) {
      if (failure instanceof LiveError) {
        throw failure;
      }
      signal?.throwIfAborted();
      throw this.end.signal.aborted ? closedError() : this.noAnswer();
    } finally {
      clearTimeout(timer);
      signals.forEach((of) => of?.removeEventListener("abort", abort));
    }
  }

  private async answer(name: string, body: string, signal: AbortSignal): Promise<unknown> {
    const response = await this.post(name, body, signal);
    if (response.ok) {
      return response.status === 204 ? undefined : await response.json();
    }
    const problem = await problemOf(response);
    const failure = isOfProxy(problem) ? this.noAnswer() : toError(problem);
    const again = isUndone(problem) || (isOfProxy(problem) && this.options.repeatCommands);
    throw again ? new Passing(failure, pauseOf(response)) : failure;
  }

  private post(name: string, body: string, signal: AbortSignal): Promise<Response> {
    return this.options.fetch(new URL(`commands/${encodeURIComponent(name)}`, this.base).href, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      credentials: "include",
      signal,
    });
  }

  private noAnswer(): LiveError {
    if (this.state === "idle") {
      this.turnToNext(); // no connection would find out
    }
    this.transport?.probe();
    return new LiveError(NO_ANSWER, "The server did not answer; whether it did what was asked is unknown.", 0);
  }

  reconnect(): void {
    if (this.state === "closed") {
      return;
    }
    this.era++;
    this.drop();
    this.backoff.reset();
    this.assumptions.clear();
    this.first.clear();
    this.shared.forEach((shared) => {
      shared.stopTimers();
      if (shared.uses === 0) {
        this.shared.delete(shared.key);
      } else {
        shared.forget();
      }
    });
    this.health.reset();
    this.connectIfNeeded();
  }

  alsoAt(...urls: readonly (string | URL)[]): void {
    const known = new Map(urls.map(rootOf).map((url) => [url.href, url]));
    known.delete(this.base.href);
    this.others = [...known.values()];
  }

  get url(): string {
    return this.base.href;
  }

  retry(): void {
    if (this.state === "waiting") {
      this.backoff.reset();
      this.connect();
    }
  }

  close(): void {
    if (this.now === "closed") {
      return;
    }
    this.now = "closed"; // Before anybody is told anything: whoever watches more then, or asks for a connection, gets none.
    this.disconnect();
    this.end.abort();
    this.health.stop();
    clearTimeout(this.reviewTimer);
    this.assumptions.clear();
    WAKING.forEach((event) => globalThis.removeEventListener?.(event, this.hurry));
    globalThis.document?.removeEventListener("visibilitychange", this.hurry);
    this.shownLater.forEach((timer) => clearTimeout(timer));
    this.shared.forEach((shared) => {
      shared.stopTimers();
      shared.end(closedError(), true);
    });
    this.review();
  }

  /** What is known for these parameters. */
  look(key: string): Snapshot<unknown> {
    const shared = this.shared.get(key);
    if (shared === undefined && this.now === "closed") {
      return CLOSED;
    }
    const first = shared === undefined ? this.first.get(key) : undefined;
    // What came with the page is put into a subscription, so that it is the same object until something changes.
    return shared?.snapshot ?? (first === undefined ? INITIAL : this.newShared(key, first.view, first.params).snapshot);
  }

  /** Resolves when there is a value or an error for these parameters; the same promise until then. */
  arrived(key: string, live: Live<unknown>): Promise<void> {
    const known = this.arriving.get(key);
    if (known !== undefined) {
      return known;
    }
    const promise = new Promise<void>((resolve) => {
      let arrived = false;
      const stop = live.subscribe(({ loading }) => {
        if (!loading && !arrived) {
          arrived = true;
          this.arriving.delete(key);
          resolve();
          const timer = setTimeout(() => {
            this.shownLater.delete(timer);
            stop();
          }, UNTIL_SHOWN);
          this.shownLater.add(timer);
          if (this.now === "closed") {
            clearTimeout(timer);
          }
        }
      });
    });
    this.arriving.set(key, promise);
    return promise;
  }

  /** Uses the subscription for these parameters, and makes it if need be. */
  use(key: string, view: string, params: Readonly<Record<string, unknown>>): Shared {
    let shared = this.shared.get(key);
    if (shared === undefined || (shared.snapshot.ended && shared.uses === 0)) {
      shared?.stopTimers();
      shared = this.newShared(key, view, params);
    }
    if (this.now === "closed") {
      if (!shared.told.ended) {
        shared.end(closedError(), true);
      }
      shared.uses++;
      return shared;
    }
    shared.uses++; // First, as who nobody uses makes room for others.
    if (!shared.asked) {
      shared.asked = true;
      this.transport?.add(shared);
    } else if (shared.uses === 1) {
      this.reviewSoon();
    }
    this.health.review();
    clearTimeout(shared.keepTimer);
    this.connectIfNeeded();
    return shared;
  }

  private newShared(key: string, view: string, params: Readonly<Record<string, unknown>>): Shared {
    const applied = (of: Shared, value: unknown): unknown => this.assumptions.applied(of, value);
    const shared = new Shared(this.nextId++, key, view, params, this.newBackoff(), applied);
    const first = this.first.get(key);
    if (first !== undefined) {
      this.first.delete(key);
      shared.begin(first.tag, first.value);
    }
    this.shared.set(key, shared);
    shared.listen(() => this.health.review());
    return shared;
  }

  /** Ends one use; the subscription goes a while after the last. */
  release(shared: Shared): void {
    shared.uses--;
    this.health.review();
    if (shared.uses === 0 && this.shared.get(shared.key) === shared && this.now !== "closed") {
      shared.keepTimer = setTimeout(() => this.remove(shared), this.options.keepFor);
      this.reviewSoon();
    }
  }

  /** Has room made for what was refused. Not at once, so that what is hidden and shown again in one go keeps its place. */
  private reviewSoon(): void {
    this.reviewTimer ??= setTimeout(() => {
      this.reviewTimer = undefined;
      this.transport?.review();
    }, GATHER);
  }

  unused(shared: Shared): void {
    this.remove(shared);
  }

  private remove(shared: Shared): void {
    shared.stopTimers();
    this.shared.delete(shared.key);
    this.transport?.remove(shared);
    if (!this.isNeeded()) {
      this.idleTimer = setTimeout(() => this.drop(), this.options.keepConnectionFor);
    }
  }

  /** Whether there is anything to be asked for: what came with the page is not before somebody watches it. */
  private isNeeded(): boolean {
    return [...this.shared.values()].some(({ asked }) => asked);
  }

  private connectIfNeeded(): void {
    clearTimeout(this.idleTimer);
    if (this.state === "idle" && this.isNeeded()) {
      this.connect();
    }
  }

  private connect(): void {
    clearTimeout(this.reconnectTimer);
    this.untilNextAttempt.abort();
    const transport = this.usesStreams
      ? new StreamTransport(this.base, this.options.fetch, this)
      : new SocketTransport(this.socketAddress(), this.options.webSocket, this);
    this.transport = transport;
    this.shared.forEach((shared) => {
      if (shared.asked && !shared.snapshot.ended && shared.retryTimer === undefined) {
        transport.add(shared);
      }
    });
    this.state = "connecting";
  }

  private socketAddress(): string {
    const url = new URL(WITH_DELTAS, this.base);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return url.href;
  }

  /** Drops the connection without trying again. */
  private drop(): void {
    this.now = "idle";
    this.disconnect();
    this.review();
  }

  /** Listeners are told after all has been set: one may close the client, or connect it. */
  private disconnect(): void {
    this.untilNextAttempt.abort();
    clearTimeout(this.reconnectTimer);
    clearTimeout(this.idleTimer);
    this.transport?.stop();
    this.transport = undefined;
    this.shared.forEach((shared) => shared.offline());
  }

  opened(): void {
    this.state = "open";
    this.failedSockets = 0;
    this.openedAt = Date.now();
  }

  doubted(): void {
    this.state = "probing";
    this.shared.forEach((shared) => shared.doubt());
  }

  assured(): void {
    this.state = "open";
    this.shared.forEach((shared) => shared.trust());
  }

  message(shared: Shared, message: SubscriptionMessage): void {
    if (message.type === "delta" && message.from !== shared.told.tag) {
      this.askForAll(shared);
    } else if (message.type !== "end") {
      shared.take(message);
      this.assumptions.review();
    } else if (isPassing(message.error)) {
      shared.take(message);
      this.askAgainLater(shared);
    } else {
      shared.end(toError(message.error), true);
    }
  }

  /** What the server says cannot be made sense of without what went before. */
  private askForAll(shared: Shared): void {
    this.transport?.remove(shared);
    shared.forgetTag();
    this.transport?.add(shared);
  }

  private askAgainLater(shared: Shared): void {
    const delay = shared.backoff.next(this.options.reconnectBase);
    shared.retryTimer = setTimeout(() => {
      shared.retryTimer = undefined;
      this.transport?.add(shared);
    }, delay);
  }

  closed(heard: boolean, retryAfter: number): void {
    this.transport = undefined;
    if (heard && Date.now() - this.openedAt >= LASTING) {
      this.backoff.reset(); // A server that hangs up at once is not asked ever again at once.
    }
    void this.chooseTransport(heard, new URL("live", this.base).href);
    if (!this.isNeeded()) {
      this.now = "idle";
    } else {
      this.now = "waiting";
      const pause = this.backoff.next(this.turnToNext() ? 0 : retryAfter);
      this.reconnectTimer = setTimeout(() => this.connect(), pause);
    }
    this.shared.forEach((shared) => shared.offline());
    this.review();
  }

  /** Turns to another server, if there is one; what the last one asked for is nothing to it. */
  private turnToNext(): boolean {
    const next = this.others.shift();
    if (next === undefined) {
      return false;
    }
    this.others.push(this.base);
    this.base = next;
    return true;
  }

  /**
   * Streams only where sockets never get through; back to sockets where streams get no answer either. A server that is
   * away says nothing about sockets: streams would stay when it is back, and few of them fill a browser's connections.
   */
  private async chooseTransport(heard: boolean, address: string): Promise<void> {
    if (this.options.transport !== "auto" || !this.hasSockets || heard) {
      return;
    }
    if (this.usesStreams) {
      this.usesStreams = false;
      this.failedSockets = 0;
      return;
    }
    const asking = new AbortController();
    this.untilNextAttempt = asking;
    const answers = await this.answersWithoutSocket(address, asking.signal);
    if (this.state === "waiting" && !asking.signal.aborted) {
      this.failedSockets = answers ? this.failedSockets + 1 : 0;
      this.usesStreams = this.failedSockets >= SOCKETS_BEFORE_STREAMS;
    }
  }

  /** Whether the server itself says, by status 426, that a WebSocket belongs there. */
  private answersWithoutSocket(address: string, signal: AbortSignal): Promise<boolean> {
    return this.options.fetch(address, { cache: "no-store", signal }).then(
      (response) => {
        void response.body?.cancel().catch(() => undefined);
        return response.status === 426;
      },
      () => false,
    );
  }

  /** The network is another, or somebody looks: no reason to wait any longer, or to believe in the connection. */
  private readonly hurry = (): void => {
    if (globalThis.document?.visibilityState !== "hidden") {
      this.retry();
      this.transport?.probe();
    }
  };

  private newBackoff(): Backoff {
    return new Backoff(this.options.reconnectBase, this.options.reconnectMax, this.options.random);
  }
}

class LiveView<R> implements Live<R> {
  private readonly key: string;

  constructor(
    private readonly client: LiveClient,
    private readonly view: string,
    private readonly params: Readonly<Record<string, unknown>>,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.key = keyOf(view, params);
  }

  snapshot(): Snapshot<R> {
    return this.client.look(this.key) as Snapshot<R>;
  }

  arrived(): Promise<void> {
    return this.client.arrived(this.key, this);
  }

  subscribe(listener: (snapshot: Snapshot<R>) => void): () => void {
    if (this.signal?.aborted === true) {
      return () => undefined;
    }
    const shared = this.client.use(this.key, this.view, this.params);
    let active = true;
    const tell = (): void => {
      if (active) {
        listener(shared.snapshot as Snapshot<R>);
      }
    };
    const unlisten = shared.listen(tell);
    queueMicrotask(tell);
    const stop = (): void => {
      if (active) {
        active = false;
        unlisten();
        this.signal?.removeEventListener("abort", stop);
        this.client.release(shared);
      }
    };
    this.signal?.addEventListener("abort", stop);
    return stop;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<R, void, undefined> {
    let wake = (): void => undefined;
    let latest: Snapshot<R> = INITIAL;
    const stop = this.subscribe((snapshot) => {
      latest = snapshot;
      wake();
    });
    const aborted = (): void => wake();
    this.signal?.addEventListener("abort", aborted);
    try {
      let seen: string | undefined;
      while (this.signal?.aborted !== true) {
        if (latest.error?.type === "closed" && latest.ended) {
          return;
        }
        if (latest.error !== undefined) {
          throw latest.error;
        }
        if (latest.tag !== undefined && latest.tag !== seen) {
          seen = latest.tag;
          yield latest.value as R;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      this.signal?.removeEventListener("abort", aborted);
      stop();
    }
  }
}

/** A failure of a command that may be given again. */
class Passing extends LiveError {
  constructor(
    failure: LiveError,
    /** The least time in milliseconds before that. */
    readonly pause: number,
  ) {
    super(failure.type, failure.message, failure.status);
  }
}

function isNoAnswer(failure: unknown): boolean {
  return failure instanceof LiveError && failure.type === NO_ANSWER;
}

function closedError(): LiveError {
  return new LiveError("closed", "This client has been closed.", 0);
}

/** What is known of a view after the end. */
const CLOSED = Object.freeze({ ...INITIAL, status: "failed", loading: false, ended: true, error: closedError() } as Snapshot<never>);

/** What the server's page says of a view: see `WebServer.Builder.page`. */
export const FIRST_RESULTS = "evergreen-first";

type Effect = (value: unknown, command: unknown, params: unknown) => unknown;

function keyOf(view: string, params: Readonly<Record<string, unknown>>): string {
  return `${view} ${stableJson(params)}`;
}

function ofThePage(): readonly FirstResult[] {
  const text = globalThis.document?.getElementById(FIRST_RESULTS)?.textContent;
  return text ? (JSON.parse(text) as FirstResult[]) : [];
}

function rootOf(url: string | URL): URL {
  const root = new URL(url);
  if (!root.pathname.endsWith("/")) {
    root.pathname += "/";
  }
  return root;
}

function pageRoot(): string {
  if (globalThis.location === undefined) {
    throw new LiveError("no-url", "Outside a page the client needs the option 'url'.", 0);
  }
  return new URL("/", globalThis.location.href).href;
}

import { WebSocket as NodeWebSocket } from "ws";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createClient } from "../src/index.js";
import type { Client, ClientOptions, Live, Snapshot } from "../src/index.js";
import { TestServer } from "./server.js";

let server: TestServer;
let clients: Client[];

beforeEach(async () => {
  server = await TestServer.start();
  clients = [];
});

afterEach(async () => {
  clients.forEach((client) => client.close());
  await server.stop();
});

function client(options: ClientOptions = {}): Client {
  const made = createClient({
    url: server.url,
    reconnectBase: 5,
    reconnectMax: 20,
    keepFor: 10,
    keepConnectionFor: 30,
    webSocket: (url) => new NodeWebSocket(url) as unknown as WebSocket,
    ...options,
  });
  clients.push(made);
  return made;
}

/** The snapshots of a view in order, each to be waited for. */
function watch<R>(live: Live<R>): { until(what: (s: Snapshot<R>) => boolean): Promise<Snapshot<R>>; stop(): void } {
  let latest: Snapshot<R> | undefined;
  const checks = new Set<() => void>();
  const stop = live.subscribe((snapshot) => {
    latest = snapshot;
    checks.forEach((check) => check());
  });
  return {
    stop,
    until: (what) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (latest !== undefined && what(latest)) {
            checks.delete(check);
            resolve(latest);
          }
        };
        checks.add(check);
        check();
      }),
  };
}

describe("a watched view", () => {
  it("is loading, then has the value, then each new value", async () => {
    const live = client().live("timeline", { user: "alice" });
    expect(live.snapshot()).toMatchObject({ loading: true, value: undefined, freshness: "offline" });
    const seen = watch(live);
    const connection = await server.connection();
    const asked = await connection.subscribed();
    expect(asked).toMatchObject({ view: "timeline", params: { user: "alice" } });
    expect(asked).not.toHaveProperty("have");
    connection.result(asked.id, "t1", ["one"]);
    expect(await seen.until((s) => s.tag === "t1")).toEqual({
      status: "value",
      pending: false,
      previous: false,
      value: ["one"],
      error: undefined,
      loading: false,
      freshness: "live",
      tag: "t1",
      ended: false,
    });
    connection.result(asked.id, "t2", null);
    expect((await seen.until((s) => s.tag === "t2")).value).toBeNull();
  });

  it("shares one subscription among all who watch the same, and ends it after the last", async () => {
    const shared = client();
    const first = watch(shared.live("timeline", { user: "alice", limit: 3 }));
    const second = watch(shared.live("timeline", { limit: 3, user: "alice", from: undefined }));
    const connection = await server.connection();
    const asked = await connection.subscribed();
    connection.result(asked.id, "t1", 1);
    await Promise.all([first.until((s) => s.value === 1), second.until((s) => s.value === 1)]);
    first.stop();
    const third = watch(shared.live("timeline", { user: "alice", limit: 3 }));
    expect((await third.until(() => true)).value).toBe(1);
    second.stop();
    third.stop();
    expect(await connection.next()).toMatchObject({ type: "unsubscribe", id: asked.id });
    expect(connection.untaken).toBe(0);
  });

  it("carries different views over one connection", async () => {
    const shared = client();
    const a = watch(shared.live("a", {}));
    const b = watch(shared.live("b", {}));
    const connection = await server.connection();
    const [one, two] = [await connection.subscribed(), await connection.subscribed()];
    connection.result(two.id, "x", "for b");
    connection.result(one.id, "y", "for a");
    expect((await a.until((s) => !s.loading)).value).toBe("for a");
    expect((await b.until((s) => !s.loading)).value).toBe("for b");
    expect(server.connections).toHaveLength(1);
  });

  it("keeps the last value beside an error, and goes on", async () => {
    const seen = watch(client().live("timeline", {}));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.result(id, "t1", "good");
    const error = { type: "timeout", message: "No answer came in time.", status: 504 };
    connection.say({ type: "error", id, tag: "e1", freshness: "in-doubt", error });
    const failed = await seen.until((s) => s.error !== undefined);
    expect(failed).toMatchObject({ value: "good", freshness: "in-doubt" });
    expect(failed.error).toMatchObject({ type: "timeout", status: 504, message: "No answer came in time." });
    connection.result(id, "t2", "better");
    expect(await seen.until((s) => s.value === "better")).toMatchObject({ error: undefined, freshness: "live" });
  });

  it("shows doubt without touching the value", async () => {
    const seen = watch(client().live("timeline", {}));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.result(id, "t1", "v");
    connection.say({ type: "freshness", id, tag: "t1", freshness: "in-doubt" });
    expect(await seen.until((s) => s.freshness === "in-doubt")).toMatchObject({ value: "v" });
  });

  it("ends for good when the server refuses, and asks anew when used anew", async () => {
    const shared = client();
    const seen = watch(shared.live("secret", {}));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.say({ type: "end", id, error: { type: "forbidden", message: "No.", status: 403 } });
    expect(await seen.until((s) => s.ended)).toMatchObject({ loading: false, error: { type: "forbidden" } });
    seen.stop();
    watch(shared.live("secret", {}));
    expect((await connection.subscribed()).id).not.toBe(id);
  });

  it("asks again later when the refusal is passing", async () => {
    const seen = watch(client().live("busy", {}));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.say({ type: "end", id, error: { type: "too-many-views", message: "Later.", status: 503 } });
    expect(await seen.until((s) => s.error !== undefined)).toMatchObject({ ended: false });
    const again = await connection.subscribed();
    connection.result(again.id, "t", "at last");
    expect(await seen.until((s) => s.value === "at last")).toMatchObject({ error: undefined });
  });
});

describe("the limits that a server says", () => {
  async function limited(limits: Parameters<typeof TestServer.start>[0]): Promise<void> {
    await server.stop();
    server = await TestServer.start(limits);
  }

  it("are kept: a view too many is told so, and asked for when another has left", async () => {
    await limited({ maxSubscriptions: 3 });
    const shared = client({ keepFor: 0 });
    const seen = ["a", "b", "c", "d", "e"].map((view) => watch(shared.live(view, {})));
    const connection = await server.connection();
    const asked = [await connection.subscribed(), await connection.subscribed(), await connection.subscribed()];
    expect(asked.map(({ view }) => view)).toEqual(["a", "b", "c"]);
    asked.forEach(({ id }) => connection.result(id, "t", 1));
    await seen[2]?.until((s) => s.freshness === "live");
    const waits = await seen[3]?.until((s) => s.error !== undefined);
    expect(waits).toMatchObject({ error: { type: "too-many-subscriptions", status: 429 }, ended: false });
    expect(connection.untaken).toBe(0);
    seen[0]?.stop();
    expect(await connection.next()).toMatchObject({ type: "unsubscribe", id: asked[0]?.id });
    const next = await connection.subscribed();
    expect(next.view).toBe("d");
    connection.result(next.id, "t", "in");
    expect(await seen[3]?.until((s) => s.value === "in")).toMatchObject({ error: undefined, freshness: "live" });
  });

  it("are kept: what is asked in one go travels in as few messages as are short enough", async () => {
    await limited({ maxMessageBytes: 1_000 });
    const shared = client();
    const views = Array.from({ length: 40 }, (_, i) => `view-é-${i}`);
    views.forEach((view) => watch(shared.live(view, {})));
    const connection = await server.connection();
    const asked: string[] = [];
    for (const _ of views) asked.push((await connection.subscribed()).view);
    expect(asked).toEqual(views);
    expect(Math.max(...connection.lengths)).toBeLessThanOrEqual(1_000);
    expect(connection.lengths.length).toBeLessThan(6);
  });

  it("are kept: views that are hidden together are unsubscribed together", async () => {
    await limited({ maxMessageBytes: 16_384, maxSubscriptions: 100 });
    const shared = client();
    const stops = Array.from({ length: 60 }, (_, i) => shared.live(`view ${i}`, {}).subscribe(() => undefined));
    const connection = await server.connection();
    for (const _ of stops) await connection.subscribed();
    const before = connection.lengths.length;
    stops.forEach((stop) => stop());
    for (const _ of stops) expect(await connection.next()).toMatchObject({ type: "unsubscribe" });
    expect(connection.lengths.length - before).toBeLessThan(5);
  });

  it("are kept: who shows and hides one view after the other says no more than it may", async () => {
    const rate = 2;
    await limited({ maxMessageBytes: 16_384, maxSubscriptions: 100, rate });
    const shared = client({ keepFor: 0, keepConnectionFor: 60_000 });
    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
    for (let i = 0; i < 60; i++) {
      const stop = shared.live(`view ${i}`, {}).subscribe(() => undefined);
      await turn();
      stop();
      await turn();
    }
    watch(shared.live("last", {}));
    const connection = await server.connection();
    const asked = new Set<number>();
    for (let last = ""; last !== "last"; ) {
      const message = await connection.next();
      if (message.type === "subscribe") {
        asked.add(message.id);
        last = message.view;
      } else {
        expect(message.type === "unsubscribe" && asked.delete(message.id)).toBe(true);
      }
    }
    expect(connection.lengths.length).toBeLessThanOrEqual(10 * rate);
    expect(asked.size).toBeLessThan(10); // What was hidden before its turn was never asked for.
  });

  it("are kept: what nobody uses any more makes room at once", async () => {
    await limited({ maxMessageBytes: 16_384, maxSubscriptions: 2 });
    const shared = client({ keepFor: 60_000 });
    const [a] = ["a", "b"].map((view) => watch(shared.live(view, {})));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    await connection.subscribed();
    a?.stop();
    watch(shared.live("c", {}));
    expect(await connection.next()).toMatchObject({ type: "unsubscribe", id });
    expect((await connection.subscribed()).view).toBe("c");
    const d = watch(shared.live("d", {}));
    expect(await d.until((s) => s.error !== undefined)).toMatchObject({ error: { type: "too-many-subscriptions" } });
    expect(connection.untaken).toBe(0);
  });

  it("are kept: what is hidden and shown again in one go makes no room", async () => {
    await limited({ maxMessageBytes: 16_384, maxSubscriptions: 1 });
    const shared = client({ keepFor: 60_000 });
    const a = watch(shared.live("a", {}));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.result(id, "t1", 1);
    await a.until((s) => s.value === 1);
    await watch(shared.live("b", {})).until((s) => s.error !== undefined);
    a.stop();
    const again = watch(shared.live("a", {}));
    connection.result(id, "t2", 2);
    expect(await again.until((s) => s.tag === "t2")).toMatchObject({ value: 2, freshness: "live" });
  });

  it("are kept: what nobody uses any more makes room for what was refused, and for what is used again", async () => {
    await limited({ maxMessageBytes: 16_384, maxSubscriptions: 2 });
    const shared = client({ keepFor: 60_000 });
    const [a, b] = ["a", "b"].map((view) => watch(shared.live(view, {})));
    const connection = await server.connection();
    const asked = [await connection.subscribed(), await connection.subscribed()];
    const [c, d] = ["c", "d"].map((view) => watch(shared.live(view, {})));
    await c?.until((s) => s.error !== undefined);
    await d?.until((s) => s.error !== undefined);
    d?.stop();
    a?.stop();
    expect(await connection.next()).toMatchObject({ type: "unsubscribe", id: asked[0]?.id });
    expect((await connection.subscribed()).view).toBe("c");
    b?.stop();
    watch(shared.live("d", {}));
    expect(await connection.next()).toMatchObject({ type: "unsubscribe", id: asked[1]?.id });
    expect((await connection.subscribed()).view).toBe("d");
    expect(connection.untaken).toBe(0);
  });

  it("that it refuses by are not tried again and again at once", async () => {
    const pauses = vi.spyOn(globalThis, "setTimeout");
    const seen = watch(client({ reconnectBase: 4, reconnectMax: 64, random: () => 0.5 }).live("a", {}));
    const connection = await server.connection();
    for (let i = 0; i < 6; i++) {
      const { id } = await connection.subscribed();
      connection.say({ type: "end", id, error: { type: "too-many-views", message: "Later.", status: 503 } });
    }
    const { id } = await connection.subscribed();
    const waited = pauses.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => [6, 8, 12, 20, 36].includes(ms));
    expect(waited).toEqual([6, 8, 12, 20, 36, 36]);
    connection.result(id, "t", "in");
    await seen.until((s) => s.value === "in");
    pauses.mockRestore();
  });
});

describe("a connection that may be none", () => {
  function pageEvents(): EventTarget {
    const events = new EventTarget();
    vi.stubGlobal("addEventListener", events.addEventListener.bind(events));
    vi.stubGlobal("removeEventListener", events.removeEventListener.bind(events));
    return events;
  }
  afterEach(() => vi.unstubAllGlobals());

  it("is asked when the page wakes, and stays what it was when there is an answer", async () => {
    await server.stop();
    server = await TestServer.start({ maxMessageBytes: 1_000 });
    const events = pageEvents();
    const seen = watch(client().live("timeline", {}));
    const connection = await server.connection();
    connection.result((await connection.subscribed()).id, "t1", 1);
    await seen.until((s) => s.freshness === "live");
    events.dispatchEvent(new Event("pageshow"));
    expect(await connection.next()).toEqual({ type: "ping" });
    connection.say({ type: "heartbeat" });
    expect(await seen.until(() => true)).toMatchObject({ freshness: "live" });
    expect(server.connections).toHaveLength(1);
  });

  it("is not called live while the server owes an answer, and is again when it comes", async () => {
    await server.stop();
    server = await TestServer.start({ heartbeat: 200, maxMessageBytes: 1_000 });
    const doubtful = client();
    const seen = watch(doubtful.live("timeline", {}));
    const connection = await server.connection();
    connection.result((await connection.subscribed()).id, "t1", 1);
    await seen.until((s) => s.freshness === "live");
    await seen.until((s) => s.freshness === "offline");
    expect(doubtful.state).toBe("probing");
    expect(await connection.next()).toEqual({ type: "ping" });
    connection.say({ type: "heartbeat" });
    expect(await seen.until((s) => s.freshness === "live")).toMatchObject({ value: 1 });
    expect(doubtful.state).toBe("open");
    expect(server.connections).toHaveLength(1);
  });
});

describe("a delta", () => {
  it("makes the next value out of the last, and is asked to be spared when it fits nothing", async () => {
    const live = client().live("timeline", {});
    const seen = watch(live);
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    const delta = { items: [{ add: ["new"] }, [0, 1]] };
    connection.result(id, "1", ["one", "two"]);
    connection.say({ type: "delta", id, from: "1", tag: "2", freshness: "in-doubt", delta });
    const next = await seen.until((s) => s.tag === "2");
    expect([next.value, next.freshness]).toEqual([["new", "one"], "in-doubt"]);
    connection.say({ type: "delta", id, from: "1", tag: "3", freshness: "current", delta });
    expect(await connection.next()).toEqual({ type: "unsubscribe", id });
    const asked = await connection.subscribed();
    expect(asked.have).toBeUndefined();
    connection.result(asked.id, "3", ["three"]);
    expect((await seen.until((s) => s.tag === "3")).value).toEqual(["three"]);
  });

  it("that fits nothing: what was on its way before the view was asked for again is no answer to that", async () => {
    const seen = watch(client().live("timeline", {}));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.say({ type: "delta", id, from: "1", tag: "2", freshness: "current", delta: { items: [] } });
    connection.say({ type: "end", id, error: { type: "unavailable", message: "Later.", status: 503 } });
    expect(await connection.next()).toEqual({ type: "unsubscribe", id });
    const asked = await connection.subscribed();
    connection.result(asked.id, "3", ["three"]);
    expect((await seen.until((s) => !s.loading)).value).toEqual(["three"]);
    expect(connection.untaken).toBe(0);
  });
});

describe("a lost connection", () => {
  it("is resumed with what the client has; the value stays and is marked", async () => {
    const seen = watch(client().live("timeline", { user: "alice" }));
    const first = await server.connection();
    first.result((await first.subscribed()).id, "t1", "kept");
    await seen.until((s) => s.freshness === "live");
    first.peer.terminate();
    expect(await seen.until((s) => s.freshness === "offline")).toMatchObject({ value: "kept", loading: false });
    const second = await server.connection();
    const asked = await second.subscribed();
    expect(asked.have).toBe("t1");
    second.say({ type: "unchanged", id: asked.id, tag: "t1", freshness: "current" });
    expect(await seen.until((s) => s.freshness === "live")).toMatchObject({ value: "kept" });
    second.peer.terminate();
    const third = await server.connection();
    third.result((await third.subscribed()).id, "t2", "newer");
    await seen.until((s) => s.value === "newer" && s.freshness === "live");
  });

  it("is tried again until the server is back", async () => {
    const seen = watch(client().live("timeline", {}));
    const first = await server.connection();
    first.result((await first.subscribed()).id, "t1", 1);
    await seen.until((s) => s.freshness === "live");
    await server.stop();
    await seen.until((s) => s.freshness === "offline");
    await new Promise((resolve) => setTimeout(resolve, 60));
    await server.listen();
    const second = await server.connection();
    second.result((await second.subscribed()).id, "t2", 2);
    await seen.until((s) => s.value === 2);
  });

  it("is waited out with growing random pauses, and with the pause that the server asks for", async () => {
    const pauses: number[] = [];
    const pause = vi.spyOn(globalThis, "setTimeout");
    const random = (): number => 0.5;
    const seen = watch(client({ reconnectBase: 4, reconnectMax: 16, random, transport: "websocket" }).live("a", {}));
    const first = await server.connection();
    await first.subscribed();
    await server.stop();
    await vi.waitFor(() => {
      pauses.splice(0, Infinity, ...pause.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => [2, 4, 8].includes(ms)));
      expect(pauses).toEqual(expect.arrayContaining([2, 4, 8]));
    });
    expect(pauses.slice(0, 3)).toEqual([2, 4, 8]);
    await server.listen();
    const second = await server.connection();
    await second.subscribed();
    second.say({ type: "bye", reason: "stopping", retryAfter: 30 });
    second.peer.close(1001);
    await server.connection();
    expect(pause.mock.calls.map(([, ms]) => ms)).toContain(45);
    pause.mockRestore();
    seen.stop();
  });

  it("is noticed when the server falls silent", async () => {
    await server.stop();
    server = await TestServer.start({ heartbeat: 20 });
    const seen = watch(client().live("timeline", {}));
    const first = await server.connection();
    first.result((await first.subscribed()).id, "t1", 1);
    await seen.until((s) => s.freshness === "live");
    await seen.until((s) => s.freshness === "offline");
    expect((await (await server.connection()).subscribed()).have).toBe("t1");
  });

  it("is not assumed while the server gives signs of life, which are answered", async () => {
    await server.stop();
    server = await TestServer.start({ heartbeat: 400 });
    const seen = watch(client().live("timeline", {}));
    const connection = await server.connection();
    connection.result((await connection.subscribed()).id, "t1", 1);
    // Together longer than the client waits for a sign of life.
    for (let i = 0; i < 4; i++) {
      await new Promise((resolve) => setTimeout(resolve, 350));
      connection.say({ type: "heartbeat" });
      expect(await connection.next()).toEqual({ type: "heartbeat" });
    }
    expect(await seen.until(() => true)).toMatchObject({ freshness: "live" });
    expect(server.connections).toHaveLength(1);
  });

  it.each(["online", "focus"])("is opened at once on %s", async (event) => {
    const events = new EventTarget();
    vi.stubGlobal("addEventListener", events.addEventListener.bind(events));
    vi.stubGlobal("removeEventListener", events.removeEventListener.bind(events));
    const slow = client({ reconnectBase: 3_600_000, reconnectMax: 3_600_000, random: () => 1 });
    const seen = watch(slow.live("timeline", {}));
    (await server.connection()).peer.terminate();
    await vi.waitFor(() => expect(slow.state).toBe("waiting"));
    events.dispatchEvent(new Event(event));
    const connection = await server.connection();
    connection.result((await connection.subscribed()).id, "t1", 1);
    await seen.until((s) => s.value === 1);
    vi.unstubAllGlobals();
  });

  it("is opened at once when asked to, with what the client has", async () => {
    const slow = client({ reconnectBase: 3_600_000, reconnectMax: 3_600_000, random: () => 1 });
    const seen = watch(slow.live("timeline", {}));
    const first = await server.connection();
    first.result((await first.subscribed()).id, "t1", "kept");
    await seen.until((s) => s.freshness === "live");
    slow.retry();
    expect(slow.state).toBe("open");
    first.peer.terminate();
    expect(await seen.until((s) => s.freshness === "offline")).toMatchObject({ value: "kept" });
    slow.retry();
    expect((await (await server.connection()).subscribed()).have).toBe("t1");
    expect(server.connections).toHaveLength(2);
  });

  it("is made to another server that is known, at once, with what the client has; commands go there, too", async () => {
    const other = await TestServer.start();
    try {
      const a = client({ reconnectMax: 1 });
      a.alsoAt(server.url, other.url);
      const seen = watch(a.live("timeline", { user: "alice" }));
      const first = await server.connection();
      first.result((await first.subscribed()).id, "t1", ["a"]);
      await seen.until((s) => s.freshness === "live");

      first.say({ type: "bye", reason: "stopping", retryAfter: 60_000 });
      await server.stop();
      const second = await other.connection();
      const again = await second.subscribed();
      expect(again.have).toBe("t1");
      second.say({ type: "unchanged", id: again.id, tag: "t1", freshness: "current" });
      expect((await seen.until((s) => s.freshness === "live")).value).toEqual(["a"]);
      expect(a.url).toBe(other.url);
      other.onRequest = (_request, response) => void response.writeHead(200).end('"there"');
      expect(await a.command("post", {})).toBe("there");

      await server.listen();
      await other.stop();
      const third = await server.connection();
      expect((await third.subscribed()).have).toBe("t1");
      expect(a.url).toBe(server.url);
    } finally {
      await other.stop();
    }
  });

  it("turns to another server by a command that is not answered, when nothing is live", async () => {
    const other = await TestServer.start();
    try {
      other.onRequest = (_request, response) => void response.writeHead(200).end('"there"');
      const idle = client();
      idle.alsoAt(server.url, other.url);
      await server.stop();
      await expect(idle.command("post", {})).rejects.toMatchObject({ type: "no-answer" });
      expect(idle.url).toBe(other.url);
      expect(await idle.command("post", {})).toBe("there");
    } finally {
      await server.listen();
      await other.stop();
    }
  });

  it("is closed when nothing is watched any more, and opened again for the next view", async () => {
    const lazy = client();
    expect(lazy.state).toBe("idle");
    const seen = watch(lazy.live("a", {}));
    const first = await server.connection();
    const closed = new Promise((resolve) => first.peer.on("close", resolve));
    seen.stop();
    await closed;
    expect(lazy.state).toBe("idle");
    watch(lazy.live("b", {}));
    expect((await (await server.connection()).subscribed()).view).toBe("b");
  });

  it("is made anew on demand, forgetting what an earlier caller saw", async () => {
    const shared = client();
    const seen = watch(shared.live("me", {}));
    const first = await server.connection();
    first.result((await first.subscribed()).id, "t1", "alice's");
    await seen.until((s) => s.value === "alice's");
    shared.reconnect();
    expect(await seen.until((s) => s.loading)).toMatchObject({ value: undefined });
    const second = await server.connection();
    const asked = await second.subscribed();
    expect(asked).not.toHaveProperty("have");
    second.result(asked.id, "t2", "bob's");
    await seen.until((s) => s.value === "bob's");
  });

  it("made anew, asks for nothing that nobody watches any more", async () => {
    const shared = client({ keepFor: 60_000 });
    const watched = watch(shared.live("watched", {}));
    const left = watch(shared.live("left", {}));
    const first = await server.connection();
    await first.subscribed();
    await first.subscribed();
    left.stop();
    shared.reconnect();
    const second = await server.connection();
    expect((await second.subscribed()).view).toBe("watched");
    watch(shared.live("later", {}));
    expect((await second.subscribed()).view).toBe("later");
    watched.stop();
  });

  it("keeps a view that is watched again soon after it was refused", async () => {
    const shared = client({ keepFor: 30 });
    const live = shared.live("profile", { name: "x" });
    const refused = watch(live);
    const connection = await server.connection();
    const error = { type: "not-found", message: "no", status: 404 };
    connection.say({ type: "end", id: (await connection.subscribed()).id, error });
    await refused.until((s) => s.ended);
    refused.stop();

    const again = watch(live);
    connection.result((await connection.subscribed()).id, "t", "here");
    await again.until((s) => s.value === "here");
    // Once this one is given up, which it is later than the refused one, nothing may have happened to the other.
    watch(shared.live("other", {})).stop();
    const other = (await connection.subscribed()).id;
    expect(await connection.next()).toEqual({ type: "unsubscribe", id: other });
    expect(live.snapshot().value).toBe("here");
  });
});

describe("a loop over a view", () => {
  it("gets the latest value and none of those it was too busy for", async () => {
    const live = client().live("timeline", {});
    const values: unknown[] = [];
    const connected = server.connection();
    const loop = (async () => {
      for await (const value of live) {
        values.push(value);
        if (value === "first") {
          const connection = await connected;
          for (let i = 0; i < 50; i++) {
            connection.result(1, `s${i}`, `skipped ${i}`);
          }
          connection.result(1, "last", "last");
          await vi.waitFor(() => expect(live.snapshot().value).toBe("last"));
        }
        if (value === "last") {
          break;
        }
      }
    })();
    const connection = await connected;
    const { id } = await connection.subscribed();
    connection.result(id, "t1", "first");
    await loop;
    expect(values).toEqual(["first", "last"]);
    expect(await connection.next()).toMatchObject({ type: "unsubscribe", id });
  });

  it("throws the view's error", async () => {
    const live = client().live("timeline", {});
    const loop = (async () => {
      for await (const value of live) {
        throw new Error(`unexpected ${String(value)}`);
      }
    })();
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.say({ type: "end", id, error: { type: "no-such-view", message: "None.", status: 404 } });
    await expect(loop).rejects.toMatchObject({ name: "LiveError", type: "no-such-view", status: 404 });
  });

  it("ends when its signal aborts and when the client is closed", async () => {
    const abort = new AbortController();
    const shared = client();
    const loops = [shared.live("a", {}, { signal: abort.signal }), shared.live("b", {})].map(async (live) => {
      const values = [];
      for await (const value of live) {
        values.push(value);
      }
      return values;
    });
    const connection = await server.connection();
    const [a, b] = [await connection.subscribed(), await connection.subscribed()];
    connection.result(a.id, "x", 1);
    connection.result(b.id, "y", 2);
    await vi.waitFor(() => expect(shared.live("b", {}).snapshot().value).toBe(2));
    abort.abort();
    expect(await loops[0]).toEqual([1]);
    expect(await connection.next()).toMatchObject({ type: "unsubscribe", id: a.id });
    shared.close();
    expect(await loops[1]).toEqual([2]);
    const after = await watch(shared.live("c", {})).until((s) => s.ended);
    expect(after).toMatchObject({ error: { type: "closed" } });
  });
});

describe("a command", () => {
  it("is posted as JSON and answered", async () => {
    let heard = "";
    server.onRequest = (request, response) => {
      heard = `${request.method} ${request.url} ${request.headers["content-type"]} `;
      request.on("data", (data: Buffer) => (heard += data.toString()));
      request.on("end", () => response.writeHead(200, { "Content-Type": "application/json" }).end('{"n":1}'));
    };
    expect(await client().command("post", { text: "hi" })).toEqual({ n: 1 });
    expect(heard).toBe('POST /commands/post application/json {"text":"hi"}');
    server.onRequest = (_request, response) => response.writeHead(204).end();
    expect(await client().command("post", { text: "hi" })).toBeUndefined();
  });

  it("throws the server's refusal, and says so when there is no answer", async () => {
    server.onRequest = (_request, response) =>
      response
        .writeHead(409, { "Content-Type": "application/problem+json" })
        .end('{"type":"taken","title":"Conflict","status":409,"detail":"The name is taken."}');
    await expect(client().command("sign-in", { name: "bob" })).rejects.toMatchObject({
      type: "taken",
      status: 409,
      message: "The name is taken.",
    });
    server.onRequest = (request) => request.socket.destroy();
    await expect(client().command("sign-in", {})).rejects.toMatchObject({ type: "no-answer", status: 0 });
  });
});

describe("a command that is not answered", () => {
  it("fails when its time is over, and has the connection looked at", async () => {
    await server.stop();
    server = await TestServer.start({ maxMessageBytes: 1_000 });
    const impatient = client({ commandWithin: 50 });
    const seen = watch(impatient.live("timeline", {}));
    const connection = await server.connection();
    connection.result((await connection.subscribed()).id, "t1", 1);
    await seen.until((s) => s.freshness === "live");
    server.onRequest = () => undefined;
    await expect(impatient.command("post", {})).rejects.toMatchObject({ type: "no-answer", status: 0 });
    expect(await connection.next()).toEqual({ type: "ping" });
    server.onRequest = (_request, response) => void response.writeHead(200).write('"half');
    await expect(impatient.command("post", {})).rejects.toMatchObject({ type: "no-answer", status: 0 });
  });
});

/** An event stream that a client has opened, and what it asked for. */
interface Opened {
  asked: { id: number; view: string; params: unknown; have?: string }[];
  say(message: object): void;
  readonly response: import("node:http").ServerResponse;
}

/** Has the server answer with streams, and nothing else. */
function streaming(hello: object = {}): Opened[] {
  const streams: Opened[] = [];
  server.onRequest = (request, response) => {
    if (request.method !== "POST" || request.url !== "/live?deltas=1") {
      response.writeHead(426).end();
      return;
    }
    expect(request.headers.accept).toBe("text/event-stream");
    let body = "";
    request.on("data", (data: Buffer) => (body += data.toString()));
    request.on("end", () => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      const say = (message: object): void => void response.write(`data: ${JSON.stringify(message)}\n\n`);
      say({ type: "hello", protocol: 1, heartbeat: 15_000, ...hello });
      streams.push({ asked: (JSON.parse(body) as { subscribe: Opened["asked"] }).subscribe, say, response });
    });
  };
  return streams;
}

describe("where no WebSocket gets through", () => {
  it("one event stream is used for all views, and resumed", async () => {
    await server.stop();
    server = await TestServer.start({ webSockets: false });
    const streams = streaming();
    const blocked = client();
    const one = watch(blocked.live("timeline", { user: "alice", limit: 3 }));
    const two = watch(blocked.live("people", {}));
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    const [a, b] = streams[0]?.asked ?? [];
    expect(a).toEqual({ id: a?.id, view: "timeline", params: { user: "alice", limit: 3 } });
    expect(b?.view).toBe("people");
    const sliced = JSON.stringify({ type: "result", id: a?.id, tag: "t1", freshness: "current", value: "sliced ü" });
    streams[0]?.response.write(`data: ${sliced.slice(0, -6)}`);
    streams[0]?.response.write(`${sliced.slice(-6)}\n\n`);
    streams[0]?.say({ type: "result", id: b?.id, tag: "u1", freshness: "current", value: 2 });
    expect(await one.until((s) => !s.loading)).toMatchObject({ value: "sliced ü", freshness: "live" });
    expect(await two.until((s) => !s.loading)).toMatchObject({ value: 2 });
    expect(blocked.state).toBe("open");

    const three = watch(blocked.live("profile", {}));
    await vi.waitFor(() => expect(streams).toHaveLength(2));
    expect(streams[1]?.asked.map(({ view, have }) => `${view} ${have}`)).toEqual([
      "timeline t1",
      "people u1",
      "profile undefined",
    ]);
    streams[1]?.say({ type: "result", id: streams[1].asked[2]?.id, tag: "v1", freshness: "current", value: 3 });
    expect(await three.until((s) => !s.loading)).toMatchObject({ value: 3 });
    expect(await one.until(() => true)).toMatchObject({ freshness: "live" });
    await vi.waitFor(() => expect(streams[0]?.response.closed).toBe(true));

    streams[1]?.response.end();
    await one.until((s) => s.freshness === "offline");
    await vi.waitFor(() => expect(streams).toHaveLength(3));
    streams[2]?.say({ type: "unchanged", id: a?.id, tag: "t1", freshness: "current" });
    await one.until((s) => s.freshness === "live");
  });

  it("what is doubted is live again by its own word only, where another stream took the place", async () => {
    const streams = streaming({ heartbeat: 200 });
    const seen: string[] = [];
    client({ transport: "sse" })
      .live("a", {})
      .subscribe(({ value, freshness }) => seen.push(`${value} ${freshness}`));
    const say = (value: string): void => {
      const latest = streams.at(-1);
      latest?.say({ type: "result", id: latest.asked[0]?.id, tag: value, freshness: "current", value });
    };
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    say("old");
    await vi.waitFor(() => expect(streams.length).toBeGreaterThan(2)); // The server falls silent, and greets.
    await vi.waitFor(() => {
      say("new");
      expect(seen).toContain("new live");
    });
    expect(seen.slice(seen.indexOf("old live"), seen.indexOf("new live"))).toEqual(["old live", "old offline"]);
  });

  it("a stream's limit is kept, too", async () => {
    const streams = streaming({ maxSubscriptions: 1 });
    const blocked = client({ transport: "sse", keepFor: 0 });
    const one = watch(blocked.live("a", {}));
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    streams[0]?.say({ type: "result", id: streams[0].asked[0]?.id, tag: "t", freshness: "current", value: 1 });
    await one.until((s) => s.value === 1);
    const two = watch(blocked.live("b", {}));
    expect(await two.until((s) => s.error !== undefined)).toMatchObject({ error: { type: "too-many-subscriptions" } });
    one.stop();
    await vi.waitFor(() => expect(streams.at(-1)?.asked.map(({ view }) => view)).toEqual(["b"]));
  });

  it("what nobody uses any more makes room in a stream, too, and goes with others", async () => {
    const streams = streaming({ maxSubscriptions: 3 });
    const blocked = client({ transport: "sse", keepFor: 40 });
    const seen = ["a", "b", "c"].map((view) => watch(blocked.live(view, {})));
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    streams[0]?.asked.forEach(({ id }) => streams[0]?.say({ type: "result", id, tag: "t", freshness: "current", value: 1 }));
    await Promise.all(seen.map((one) => one.until((s) => s.value === 1)));
    seen[0]?.stop();
    const d = watch(blocked.live("d", {}));
    await vi.waitFor(() => expect(streams.at(-1)?.asked.map(({ view }) => view)).toEqual(["b", "c", "d"]));
    expect(blocked.live("d", {}).snapshot().error).toBeUndefined();
    seen[1]?.stop();
    seen[2]?.stop();
    d.stop();
    watch(blocked.live("e", {}));
    await vi.waitFor(() => expect(streams.at(-1)?.asked.map(({ view }) => view)).toEqual(["e"]));
    expect(streams.length).toBeLessThan(5);
  });

  it("what nobody uses any more makes room in a stream for what was refused, and for what is used again", async () => {
    const streams = streaming({ maxSubscriptions: 2 });
    const blocked = client({ transport: "sse", keepFor: 60_000 });
    const asked = (): string[] | undefined => streams.at(-1)?.asked.map(({ view }) => view);
    const [a, b] = ["a", "b"].map((view) => watch(blocked.live(view, {})));
    await vi.waitFor(() => expect(blocked.state).toBe("open"));
    const [c, d] = ["c", "d"].map((view) => watch(blocked.live(view, {})));
    await d?.until((s) => s.error !== undefined);
    d?.stop();
    a?.stop();
    await vi.waitFor(() => expect(asked()).toEqual(["b", "c"]));
    const e = watch(blocked.live("e", {}));
    await e.until((s) => s.error !== undefined);
    e.stop();
    b?.stop();
    watch(blocked.live("e", {}));
    await vi.waitFor(() => expect(asked()).toEqual(["c", "e"]));
    c?.stop();
  });

  it("what nobody uses any more makes room in a stream for what the server refused", async () => {
    const streams = streaming({ maxSubscriptions: 2 });
    const blocked = client({ transport: "sse", keepFor: 60_000 });
    const [a, , c] = ["a", "b", "c"].map((view) => watch(blocked.live(view, {})));
    await vi.waitFor(() => expect(streams[0]?.asked.map(({ view }) => view)).toEqual(["a", "b", "c"]));
    const refused = streams[0]?.asked.at(-1)?.id ?? 0;
    streams[0]?.say({ type: "end", id: refused, error: { type: "too-many-subscriptions", message: "Too many." } });
    await c?.until((s) => s.error !== undefined);
    a?.stop();
    await vi.waitFor(() => expect(streams.at(-1)?.asked.map(({ view }) => view)).toEqual(["b", "c"]));
  });

  it("a stream is asked for no later because more is wanted meanwhile", async () => {
    const done: string[] = [];
    const blocked = client({
      transport: "sse",
      fetch: () => {
        done.push("asked");
        return new Promise(() => undefined);
      },
    });
    watch(blocked.live("a", {}));
    const later = new Promise((resolve) => setTimeout(resolve)).then(() => done.push("later"));
    watch(blocked.live("b", {}));
    await later;
    expect(done).toEqual(["asked", "later"]);
  });

  it("a stream that waits to be greeted is not given up because more is wanted meanwhile", async () => {
    const signals: (AbortSignal | null | undefined)[] = [];
    let greet: (response: Response) => void = () => undefined;
    const waiting = client({
      transport: "sse",
      fetch: (_url, init) => {
        signals.push(init?.signal);
        return new Promise((resolve) => (greet = resolve));
      },
    });
    const a = watch(waiting.live("a", {}));
    await vi.waitFor(() => expect(signals).toHaveLength(1));
    watch(waiting.live("b", {}));
    await new Promise((resolve) => setTimeout(resolve)); // As long as it takes to ask for that.
    expect(signals).toHaveLength(1);
    expect(signals[0]?.aborted).toBe(false);
    const said = [
      { type: "hello", protocol: 1, heartbeat: 15_000 },
      { type: "result", id: 1, tag: "t", freshness: "current", value: 7 },
    ];
    greet(new Response(said.map((message) => `data: ${JSON.stringify(message)}\n\n`).join("")));
    expect((await a.until((s) => s.value !== undefined)).value).toBe(7);
    await vi.waitFor(() => expect(signals).toHaveLength(2));
  });

  it("event streams are not used because the server was away", async () => {
    let sockets = 0;
    let streams = 0;
    const patient = client({
      webSocket: (url) => {
        sockets++;
        return new NodeWebSocket(url) as unknown as WebSocket;
      },
      fetch: (input, init) => {
        if (new Headers(init?.headers).has("Accept")) streams++;
        return fetch(input, init);
      },
    });
    const seen = watch(patient.live("timeline", {}));
    await server.connection();
    await server.stop();
    await vi.waitFor(() => expect(sockets).toBeGreaterThan(6));
    await server.listen();
    const again = await server.connection();
    again.result((await again.subscribed()).id, "t", "back");
    await seen.until((s) => s.value === "back");
    expect(streams).toBe(0);
  });

  it("a refusal is told", async () => {
    server.onRequest = (_request, response) =>
      response.writeHead(403).end('{"type":"forbidden","status":403,"detail":"No."}');
    const seen = watch(client({ transport: "sse" }).live("secret", {}));
    expect(await seen.until((s) => s.ended)).toMatchObject({ error: { type: "forbidden", message: "No." } });
  });
});

describe("where there is no WebSocket, as in Node 20", () => {
  beforeEach(() => vi.stubGlobal("WebSocket", undefined));
  afterEach(() => vi.unstubAllGlobals());

  function bare(options: ClientOptions = {}): Client {
    const made = createClient({ url: server.url, reconnectBase: 5, reconnectMax: 20, ...options });
    clients.push(made);
    return made;
  }

  it("event streams are used, also after the server was away", async () => {
    const streams = streaming();
    let attempts = 0;
    const counted: typeof fetch = (input, init) => {
      attempts++;
      return fetch(input, init);
    };
    const seen = watch(bare({ fetch: counted }).live("timeline", { count: 20 }));
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    streams[0]?.say({ type: "result", id: streams[0].asked[0]?.id, tag: "t1", freshness: "current", value: "one" });
    await seen.until((s) => s.value === "one");
    await server.stop();
    await seen.until((s) => s.freshness === "offline");
    await vi.waitFor(() => expect(attempts).toBeGreaterThan(4));
    await server.listen();
    await vi.waitFor(() => expect(streams).toHaveLength(2));
    streams[1]?.say({ type: "result", id: streams[1].asked[0]?.id, tag: "t2", freshness: "current", value: "two" });
    await seen.until((s) => s.value === "two");
    expect(server.connections).toHaveLength(0);
  });

  it("asking for nothing but WebSockets is refused with what to do", () => {
    expect(() => bare({ transport: "websocket" })).toThrow(/option 'webSocket'/);
  });
});

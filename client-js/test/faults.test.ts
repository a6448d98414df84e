import { WebSocket as NodeWebSocket } from "ws";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createClient, Outbox } from "../src/index.js";
import type { Client, ClientOptions, LiveError, Snapshot } from "../src/index.js";
import { PageList } from "../src/pages.js";
import { type Connection, type Subscribe, TestServer } from "./server.js";

let server: TestServer;
let clients: Client[];

beforeEach(async () => {
  server = await TestServer.start();
  clients = [];
});

afterEach(async () => {
  clients.forEach((client) => client.close());
  await server.stop();
  vi.unstubAllGlobals();
});

function client(options: ClientOptions = {}): Client {
  const made = createClient({
    url: server.url,
    reconnectBase: 5,
    reconnectMax: 20,
    keepFor: 10,
    webSocket: (url) => new NodeWebSocket(url) as unknown as WebSocket,
    ...options,
  });
  clients.push(made);
  return made;
}

interface Stream {
  asked: { id: number; view: string; have?: string }[];
  say(message: object): void;
}

/** Answers with streams, and before that with what `instead` says. */
function streams(instead: () => number | undefined = () => undefined, hello: object = {}): Stream[] {
  const opened: Stream[] = [];
  server.onRequest = (request, response) => {
    let body = "";
    request.on("data", (data: Buffer) => (body += data.toString()));
    request.on("end", () => {
      const status = request.method === "POST" ? instead() : 426;
      if (status !== undefined) {
        response.writeHead(status, { "Content-Type": "text/html" }).end("<h1>Bad Gateway</h1>");
        return;
      }
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      const say = (message: object): void => void response.write(`data: ${JSON.stringify(message)}\n\n`);
      say({ type: "hello", protocol: 1, heartbeat: 15_000, ...hello });
      opened.push({ asked: (JSON.parse(body) as { subscribe: Stream["asked"] }).subscribe, say });
    });
  };
  return opened;
}

/** Runs a test that expects uncaught errors, which it is given. */
async function uncaught(test: (thrown: unknown[]) => Promise<void>): Promise<void> {
  const thrown: unknown[] = [];
  const caught = (failure: unknown): void => void thrown.push(failure);
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", caught);
  try {
    await test(thrown);
  } finally {
    process.off("uncaughtException", caught);
    others.forEach((other) => process.on("uncaughtException", other));
  }
}

function result(id: number | undefined, value: unknown, tag = JSON.stringify(value)): object {
  return { type: "result", id, tag, freshness: "current", value };
}

describe("a proxy whose server restarts", () => {
  it.each([502, 503, 504])("answers a stream by %s: the connection is lost, and no view has failed", async (status) => {
    let left = 3;
    const opened = streams(() => (left-- > 0 ? status : undefined));
    const seen: Snapshot<unknown>[] = [];
    client({ transport: "sse" })
      .live("timeline", {})
      .subscribe((snapshot) => seen.push(snapshot));
    await vi.waitFor(() => expect(opened).toHaveLength(1), 5_000);
    opened[0]?.say(result(opened[0].asked[0]?.id, "back"));
    await vi.waitFor(() => expect(seen.at(-1)).toMatchObject({ value: "back", freshness: "live" }));
    expect(seen.map(({ error }) => error).filter(Boolean)).toEqual([]);
  });

  it("leaves what became of a command unknown, and it is not given again", async () => {
    let given = 0;
    server.onRequest = (request, response) => {
      given++;
      request.resume();
      response.writeHead(502).end("<h1>Bad Gateway</h1>");
    };
    await expect(client().command("post", {})).rejects.toMatchObject({ type: "no-answer", status: 0 });
    expect(given).toBe(1);
  });

  it.each([
    [true, 502, "<h1>Bad Gateway</h1>"],
    [false, 503, '{"type":"too-many-requests","status":503,"detail":"Busy."}'],
  ])("is asked again where a command may be given twice (%s) or was not carried out (%s)", async (repeatCommands, status, body) => {
    let given = 0;
    server.onRequest = (request, response) => {
      request.resume();
      if (++given < 4) {
        response.writeHead(status).end(body);
      } else {
        response.writeHead(200).end('"done"');
      }
    };
    expect(await client({ repeatCommands }).command("post", {})).toBe("done");
    expect(given).toBe(4);
  });

  it("is not given again as another caller's", async () => {
    let given = 0;
    server.onRequest = (request, response) => {
      request.resume();
      given++;
      response.writeHead(503).end('{"type":"too-many-requests","status":503,"detail":"Busy."}');
    };
    const shared = client();
    const answer = shared.command("post", {}).catch((failure: unknown) => failure);
    await vi.waitFor(() => expect(given).toBeGreaterThan(1));
    shared.reconnect();
    const until = given + 1; // one may be under way
    expect(await answer).toMatchObject({ type: "too-many-requests" });
    expect(given).toBeLessThanOrEqual(until);
  });

  it("is not asked again beyond the time that a command has", async () => {
    server.onRequest = (request, response) => {
      request.resume();
      response.writeHead(503, { "Retry-After": "60" }).end('{"type":"too-many-requests","status":503,"detail":"Busy."}');
    };
    const impatient = client({ commandWithin: 30_000 });
    await expect(impatient.command("post", {})).rejects.toMatchObject({ type: "too-many-requests", status: 503 });
  });
});

describe("an event stream", () => {
  it("asks for no more than a request may hold, and for the first view in any case", async () => {
    const opened = streams(undefined, { maxMessageBytes: 300 });
    const shared = client({ transport: "sse", keepFor: 0 });
    const long = shared.live("long", { text: "x".repeat(17_000) });
    const stop = long.subscribe(() => undefined);
    shared.live("other", {}).subscribe(() => undefined);
    await vi.waitFor(() => expect(opened.at(-1)?.asked.map(({ view }) => view)).toEqual(["long"]));
    await vi.waitFor(() => expect(shared.live("other", {}).snapshot().error?.type).toBe("too-many-subscriptions"));
    stop();
    await vi.waitFor(() => expect(opened.at(-1)?.asked.map(({ view }) => view)).toEqual(["other"]));
  });

  it("goes on for the others when what it was asked for is refused as a whole", async () => {
    const opened = streams();
    const answer = server.onRequest;
    let refuse = true;
    server.onRequest = (request, response) => {
      if (refuse) {
        refuse = false;
        request.resume();
        response.writeHead(413).end('{"type":"too-large","status":413,"detail":"Too long."}');
      } else {
        answer(request, response);
      }
    };
    const shared = client({ transport: "sse" });
    const long = shared.live("long", { text: "x".repeat(17_000) });
    long.subscribe(() => undefined);
    shared.live("other", {}).subscribe(() => undefined);
    await vi.waitFor(() => expect(long.snapshot()).toMatchObject({ ended: true, error: { type: "too-large" } }));
    await vi.waitFor(() => expect(opened.at(-1)?.asked.map(({ view }) => view)).toEqual(["other"]));
  });

  it("is asked for anew when the page wakes, with what there is, and is open again after a doubt", async () => {
    const events = new EventTarget();
    vi.stubGlobal("addEventListener", events.addEventListener.bind(events));
    vi.stubGlobal("removeEventListener", events.removeEventListener.bind(events));
    const opened = streams(undefined, { heartbeat: 100 });
    const sleeper = client({ transport: "sse" });
    const live = sleeper.live("timeline", {});
    live.subscribe(() => undefined);
    await vi.waitFor(() => expect(opened).toHaveLength(1));
    opened[0]?.say(result(opened[0].asked[0]?.id, 1, "t1"));
    await vi.waitFor(() => expect(live.snapshot().freshness).toBe("live"));
    events.dispatchEvent(new Event("online"));
    await vi.waitFor(() => expect(opened).toHaveLength(2));
    expect(opened[1]?.asked[0]?.have).toBe("t1");

    // Now it says nothing; another stream is asked for, and that one does.
    const states: string[] = [];
    sleeper.onChange(() => states.push(sleeper.state));
    await vi.waitFor(() => expect(states.join(" ")).toContain("probing open"));
  });

  it("outlives a listener that throws, and so do the other listeners", async () => {
    await uncaught(async (thrown) => {
      const opened = streams();
      const live = client({ transport: "sse" }).live("timeline", {});
      live.subscribe(({ value, freshness }) => {
        if (value !== undefined && freshness === "live") throw new Error("a listener's");
      });
      let heard: unknown;
      live.subscribe(({ value }) => (heard = value));
      await vi.waitFor(() => expect(opened).toHaveLength(1));
      opened[0]?.say(result(opened[0].asked[0]?.id, 1));
      opened[0]?.say(result(opened[0].asked[0]?.id, 2));
      await vi.waitFor(() => expect(heard).toBe(2));
      await vi.waitFor(() => expect(thrown).toHaveLength(2));
      expect(opened).toHaveLength(1);
    });
  });
});

describe("a WebSocket", () => {
  it("that the browser does not even make is a failed attempt", async () => {
    let attempts = 0;
    const refused = client({
      transport: "websocket",
      webSocket: (url) => {
        if (++attempts < 3) throw new Error("SecurityError");
        return new NodeWebSocket(url) as unknown as WebSocket;
      },
    });
    refused.live("timeline", {}).subscribe(() => undefined);
    await (await server.connection()).subscribed();
    expect(attempts).toBe(3);
  });

  it("that says what is no JSON is given up", async () => {
    client().live("timeline", {}).subscribe(() => undefined);
    const first = await server.connection();
    await first.subscribed();
    first.peer.send("<html>");
    const second = await server.connection();
    await second.subscribed();
    second.peer.send("null");
    await (await server.connection()).subscribed();
  });

  it("is not asked for what it would be cut for: that view has failed, and others go on", async () => {
    await server.stop();
    server = await TestServer.start({ maxMessageBytes: 300 });
    const shared = client();
    const long = shared.live("long", { text: "é".repeat(150) });
    long.subscribe(() => undefined);
    shared.live("other", {}).subscribe(() => undefined);
    const connection = await server.connection();
    const asked = await connection.subscribed();
    expect(asked.view).toBe("other");
    connection.result(asked.id, "t", "in");
    await vi.waitFor(() => expect(shared.live("other", {}).snapshot().value).toBe("in"));
    expect(long.snapshot()).toMatchObject({ ended: true, error: { type: "too-large", status: 413 } });
    expect(connection.untaken).toBe(0);
  });

  it("asks for the whole where there is no room for saying what it has", async () => {
    await server.stop();
    server = await TestServer.start({ maxMessageBytes: 300 });
    const params = { text: "x".repeat(210) };
    client().live("long", params).subscribe(() => undefined);
    const first = await server.connection();
    const { id } = await first.subscribed();
    first.result(id, "t".repeat(40), "in");
    await vi.waitFor(() => expect(clients[0]?.live("long", params).snapshot().value).toBe("in"));
    first.peer.terminate();
    const again = await (await server.connection()).subscribed();
    expect(again).toMatchObject({ view: "long", params });
    expect(again.have).toBeUndefined();
  });

  it("is told at most a thousand things in one message", async () => {
    await server.stop();
    server = await TestServer.start({ maxMessageBytes: 1 << 20, maxSubscriptions: 5_000 });
    const shared = client();
    for (let i = 0; i < 1_500; i++) shared.live(`view${i}`, {}).subscribe(() => undefined);
    const connection = await server.connection();
    for (let i = 0; i < 1_500; i++) await connection.subscribed();
    expect(connection.lengths).toHaveLength(2);
  });
});

describe("a listener that acts on what it is told", () => {
  it.each(["connecting", "open", "waiting"])("may close the client when it is %s", async (state) => {
    const closing = client();
    closing.onChange(() => {
      if (closing.state === state) closing.close();
    });
    const live = closing.live("timeline", {});
    live.subscribe(() => undefined);
    if (state === "waiting") (await server.connection()).peer.terminate();
    await vi.waitFor(() => expect(live.snapshot().ended).toBe(true));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(closing.state).toBe("closed");
    await vi.waitFor(() => expect(server.connections.filter(({ peer }) => peer.readyState <= 1)).toEqual([]));
  });

  it("may close the client when its view is one too many for a stream, which is not asked for then", async () => {
    const opened = streams(() => undefined, { maxSubscriptions: 1 });
    const closing = client({ transport: "sse" });
    closing.live("a", {}).subscribe(() => undefined);
    await vi.waitFor(() => expect(closing.state).toBe("open"));
    closing.live("b", {}).subscribe(({ error }) => {
      if (error?.type === "too-many-subscriptions") closing.close();
    });
    await vi.waitFor(() => expect(closing.state).toBe("closed"));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(opened).toHaveLength(1);
  });

  it("may ask for a connection when one is lost, and gets one", async () => {
    const shared = client({ reconnectBase: 40, random: () => 1 });
    const live = shared.live("timeline", {});
    let lost = 0;
    live.subscribe(({ freshness, value }) => {
      if (value !== undefined && freshness === "offline" && lost++ === 0) shared.reconnect();
    });
    const first = await server.connection();
    first.result((await first.subscribed()).id, "t1", 1);
    await vi.waitFor(() => expect(live.snapshot().freshness).toBe("live"));
    first.peer.terminate();
    await (await server.connection()).subscribed();
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(server.connections).toHaveLength(2);
  });

  it("that watches more while the client is closed brings it no connection", async () => {
    const closing = client();
    closing.onChange(() => {
      if (closing.state !== "open" && server.connections.length > 0) {
        closing.live("more", {}).subscribe(() => undefined);
      }
    });
    closing.live("timeline", {}).subscribe(() => undefined);
    await (await server.connection()).subscribed();
    await vi.waitFor(() => expect(closing.state).toBe("open"));
    closing.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.connections).toHaveLength(1);
    expect(closing.state).toBe("closed");
  });
});

describe("a command that cannot be written as JSON", () => {
  it("is a fault of who gives it, and nothing is said of the server", async () => {
    const ring: Record<string, unknown> = {};
    ring["self"] = ring;
    let asked = 0;
    server.onRequest = (_request, response) => {
      asked++;
      response.writeHead(204).end();
    };
    const shared = client();
    shared.alsoAt("http://127.0.0.1:9/");
    await expect(shared.command("post", ring)).rejects.toThrow(TypeError);
    expect(asked).toBe(0);
    expect(shared.url).toBe(server.url);
  });
});

describe("a client that is closed", () => {
  it("settles all that is awaited, and takes no more commands", async () => {
    let asked = false;
    server.onRequest = () => (asked = true);
    const closing = client({ fetch: (address, init) => fetch(address, { ...init, signal: null }) });
    const command = closing.command("post", {}).catch((failure: LiveError) => failure.type);
    const arrived = closing.live("never", {}).arrived();
    await vi.waitFor(() => expect(asked).toBe(true));
    closing.close();
    expect(await command).toBe("closed");
    await arrived;
    await expect(closing.command("post", {})).rejects.toMatchObject({ type: "closed" });
    expect(closing.live("never", {}).snapshot()).toMatchObject({ status: "failed", ended: true, loading: false });
    expect(closing.live("other", {}).snapshot()).toMatchObject({ status: "failed", ended: true, loading: false });
    await closing.live("another", {}).arrived();
  });

  it("leaves no timers", async () => {
    const open = new Set<unknown>();
    server.onRequest = (request, response) => {
      request.resume();
      response.writeHead(204).end();
    };
    const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
    vi.stubGlobal("setTimeout", (action: () => void, ms?: number) => {
      const timer = real.setTimeout(() => {
        open.delete(timer);
        action();
      }, ms);
      // Of the client's own, and not of what it calls.
      if (new Error().stack?.split("\n")[2]?.includes("/src/")) open.add(timer);
      return timer;
    });
    vi.stubGlobal("clearTimeout", (timer: ReturnType<typeof setTimeout>) => {
      open.delete(timer);
      real.clearTimeout(timer);
    });
    const closing = client({ keepFor: 60_000, commandWithin: 70_000 });
    const live = closing.live("timeline", {});
    const stop = live.subscribe(() => undefined);
    const arrived = live.arrived();
    const connection = await server.connection();
    connection.result((await connection.subscribed()).id, "t1", 1);
    await arrived;
    await closing.command("post", {}, { optimistic: { timeline: () => 2 } });
    const late = closing.command("post", {}, { optimistic: { timeline: () => 3 } }).catch(() => undefined);
    closing.close();
    stop();
    closing.live("later", {}).subscribe(() => undefined)();
    await late;
    await closing.live("timeline", {}).arrived();
    expect(open.size).toBe(0);
  });
});

describe("an optimistic result", () => {
  it("that cannot be made leaves the value, and nothing stays of it when the command has failed", async () => {
    await uncaught(async (thrown) => {
      const shared = client();
      const live = shared.live("timeline", {});
      live.subscribe(() => undefined);
      const connection = await server.connection();
      const { id } = await connection.subscribed();
      connection.result(id, "t1", ["a"]);
      await vi.waitFor(() => expect(live.snapshot().value).toEqual(["a"]));
      server.onRequest = (request, response) => {
        request.resume();
        response.writeHead(409).end('{"type":"taken","status":409,"detail":"No."}');
      };
      const failed = shared.command("post", {}, {
        optimistic: {
          timeline: () => {
            throw new Error("an effect's");
          },
        },
      });
      await expect(failed).rejects.toMatchObject({ type: "taken" });
      connection.result(id, "t2", ["b"]);
      await vi.waitFor(() => expect(live.snapshot()).toMatchObject({ value: ["b"], pending: false }));
      await vi.waitFor(() => expect(thrown.length).toBeGreaterThan(0));
    });
  });
});

describe("pages", () => {
  /** A list whose pages begin where a number says, as many servers have them. */
  async function twoPages(idOf?: (item: unknown) => unknown): Promise<{
    list: PageList;
    connection: Connection;
    first(items: unknown[], next?: string): void;
    second(items: unknown[]): void;
    third(): Promise<(items: unknown[]) => void>;
    shown(count: number): Promise<unknown>;
  }> {
    const list = new PageList(client(), "list", {}, "from", idOf);
    list.subscribe(() => undefined);
    const connection = await server.connection();
    const one = await connection.subscribed();
    let tag = 0;
    const say = (id: number, items: unknown[], next: string | null): void =>
      connection.result(id, `t${tag++}`, { items, next });
    const first = (items: unknown[], next = "2"): void => say(one.id, items, next);
    first([{ n: 1 }, { n: 2 }]);
    await vi.waitFor(() => expect(list.snapshot().hasMore).toBe(true));
    list.more();
    const two = await connection.subscribed();
    const second = (items: unknown[]): void => say(two.id, items, null);
    second([{ n: 3 }, { n: 4 }]);
    const third = async (): Promise<(items: unknown[]) => void> => {
      const { id } = await connection.subscribed();
      return (items) => say(id, items, null);
    };
    const shown = (count: number): Promise<unknown> =>
      vi.waitFor(() => {
        expect(list.snapshot().items).toHaveLength(count);
        return list.snapshot().items;
      });
    await shown(4);
    return { list, connection, first, second, third, shown };
  }

  it("show an item that moves from one to the other once", async () => {
    const { first, second, shown } = await twoPages();
    second([{ n: 2 }, { n: 3 }]); // The first page does not know yet that one has come before its own.
    expect(await shown(3)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    first([{ n: 0 }, { n: 1 }]);
    expect(await shown(4)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it("show what is behind a page that has changed until the next one is there, and no longer", async () => {
    const { list, first, third, shown } = await twoPages();
    first([{ n: 0 }, { n: 1 }], "1");
    const answer = await third();
    const five = [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }];
    expect(await shown(5)).toEqual(five);
    expect(list.snapshot().loading).toBe(true);
    answer([{ n: 2 }, { n: 4 }]);
    expect(await shown(4)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }, { n: 4 }]);
    expect(list.snapshot().loading).toBe(false);
  });

  it("know an item that changes as it moves by what the application says", async () => {
    const { first, shown } = await twoPages((item) => (item as { n: number }).n);
    first([{ n: 4, votes: 1 }, { n: 1 }]);
    expect(await shown(3)).toEqual([{ n: 4, votes: 1 }, { n: 1 }, { n: 3 }]);
  });

  const refused = { type: "too-many-new-views", message: "Later.", status: 429 };

  /** The next view that is asked for, whatever is no longer. */
  async function asked(connection: Connection): Promise<Subscribe> {
    let message = await connection.next();
    while (message.type !== "subscribe") {
      message = await connection.next();
    }
    return message as Subscribe;
  }

  it("go on where they did when one of the first page is gone", async () => {
    const { list, connection, first, shown } = await twoPages();
    first([{ n: 2 }, { n: 3 }], "3");
    expect(await shown(3)).toEqual([{ n: 2 }, { n: 3 }, { n: 4 }]);
    expect(list.snapshot().loading).toBe(false);
    expect(connection.untaken).toBe(0);
  });

  it("are asked for anew where what comes behind an item is not what came there", async () => {
    const { first, third, shown } = await twoPages();
    first([{ n: 2 }, { n: 1 }], "1"); // The last has become the first.
    (await third())([{ n: 3 }, { n: 4 }]);
    expect(await shown(4)).toEqual([{ n: 2 }, { n: 1 }, { n: 3 }, { n: 4 }]);
  });

  it("stay while the next one is refused for now, but not when it is for good", async () => {
    const { list, connection, first, shown } = await twoPages();
    first([{ n: 0 }, { n: 1 }], "1");
    const { id } = await connection.subscribed();
    connection.say({ type: "end", id, error: refused });
    await vi.waitFor(() => expect(list.snapshot().error?.status).toBe(429));
    await shown(5);
    const again = await asked(connection);
    connection.say({ type: "end", id: again.id, error: { type: "forbidden", message: "No.", status: 403 } });
    await vi.waitFor(() => expect(list.snapshot().error?.status).toBe(403));
    expect(list.snapshot().items).toEqual([{ n: 0 }, { n: 1 }]);
  });

  it("can be wished for while others are on their way", async () => {
    const { list, first, connection } = await twoPages();
    first([{ n: 0 }, { n: 1 }], "1");
    const second = await connection.subscribed();
    await vi.waitFor(() => expect(list.snapshot().loading).toBe(true));
    list.more();
    list.more(); // Pressed twice: one page.
    connection.result(second.id, "second", { items: [{ n: 2 }, { n: 3 }], next: "3" });
    const third = await asked(connection);
    expect(third.params).toEqual({ from: "3" });
    connection.result(third.id, "third", { items: [{ n: 4 }, { n: 5 }], next: "5" });
    await vi.waitFor(() => expect(list.snapshot().loading).toBe(false));
    expect(list.snapshot().items).toHaveLength(6);
  });

  it("come one at a time, also where one is wished for again that was refused for now", async () => {
    const list = new PageList(client(), "list", {}, "from", undefined, "until");
    list.subscribe(() => undefined);
    const connection = await server.connection();
    connection.result((await connection.subscribed()).id, "first", { items: [{ n: 1 }], next: "1" });
    await vi.waitFor(() => expect(list.snapshot().hasMore).toBe(true));
    list.more();
    const both = [await asked(connection), await asked(connection)];
    const idOf = (name: string): number => both.find(({ params }) => params[name] === "1")?.id ?? 0;
    connection.say({ type: "end", id: idOf("from"), error: refused });
    await vi.waitFor(() => expect(list.snapshot()).toMatchObject({ loading: true, error: { status: 429 } }));
    list.more();
    connection.result((await asked(connection)).id, "second", { items: [{ n: 2 }], next: "2" });
    connection.result(idOf("until"), "first", { items: [{ n: 1 }], next: "1" });
    await vi.waitFor(() => expect(list.snapshot()).toMatchObject({ loading: false, hasMore: true }));
    expect(list.snapshot().items).toEqual([{ n: 1 }, { n: 2 }]);
    list.more();
    connection.result((await asked(connection)).id, "third", { items: [{ n: 3 }], next: null });
    await vi.waitFor(() => expect(list.snapshot()).toMatchObject({ loading: false, hasMore: false }));
    expect(list.snapshot().items).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it("are asked for anew where a page that ends as before says that the next one begins elsewhere", async () => {
    const { first, third, shown } = await twoPages();
    first([{ n: 1 }, { n: 2 }], "2, and one more");
    (await third())([{ n: 2.5 }, { n: 3 }, { n: 4 }]);
    expect(await shown(5)).toEqual([{ n: 1 }, { n: 2 }, { n: 2.5 }, { n: 3 }, { n: 4 }]);
  });

  it("show no more of a page when what has come in its place is refused for good", async () => {
    const list = new PageList(client(), "list", {}, "from", undefined, "until");
    list.subscribe(() => undefined);
    const connection = await server.connection();
    connection.result((await connection.subscribed()).id, "first", { items: [{ n: 1 }], next: "1" });
    await vi.waitFor(() => expect(list.snapshot().hasMore).toBe(true));
    list.more();
    let message = await asked(connection);
    while (message.params.until === undefined) {
      message = await asked(connection);
    }
    expect(list.snapshot().items).toEqual([{ n: 1 }]);
    connection.say({ type: "end", id: message.id, error: { type: "forbidden", message: "No.", status: 403 } });
    await vi.waitFor(() => expect(list.snapshot().error?.status).toBe(403));
    expect(list.snapshot().items).toEqual([]);
  });

  /** A list whose pages can be asked to end somewhere; a server that answers whatever is asked of it. */
  it("behind the first are asked for once, whatever comes to that", async () => {
    const list = new PageList(client(), "list", {}, "from", undefined, "until");
    const numbers = Array.from({ length: 9 }, (_, i) => i + 1);
    const most = 3;
    const asked: Record<string, unknown>[] = [];
    const open = new Map<number, Record<string, unknown>>();
    const pageOf = ({ from, until }: Record<string, unknown>): unknown => {
      const rest = numbers.slice(from === undefined ? 0 : numbers.indexOf(Number(from)) + 1);
      const end = until === undefined ? most : rest.indexOf(Number(until)) + 1;
      const items = rest.slice(0, end <= 0 || end > 2 * most ? most : end);
      return { items: items.map((n) => ({ n })), next: items.length < rest.length ? String(items.at(-1)) : null };
    };
    list.subscribe(() => undefined);
    const connection = await server.connection();
    let tag = 0;
    const answer = (id: number): void => connection.result(id, `t${tag++}`, pageOf(open.get(id) ?? {}));
    const serve = async (): Promise<void> => {
      for (;;) {
        const message = await connection.next();
        if (message.type === "subscribe") {
          open.set(message.id, message.params);
          asked.push(message.params);
          answer(message.id);
        } else if (message.type === "unsubscribe") {
          open.delete(message.id);
        }
      }
    };
    void serve();
    const settled = (count: number): Promise<void> =>
      vi.waitFor(() => {
        expect(list.snapshot()).toMatchObject({ loading: false });
        expect(list.snapshot().items.map((item) => (item as { n: number }).n)).toEqual(numbers.slice(0, count));
      });
    const comes = (n: number): void => {
      numbers.unshift(n);
      [...open.keys()].forEach(answer);
    };
    await settled(3);
    list.more();
    await settled(6);
    list.more();
    await settled(9);
    expect(asked).toEqual(expect.arrayContaining([{}, { until: "3" }, { from: "3" }, { from: "6" }]));
    expect(asked).toHaveLength(4);
    for (let i = 1; i <= most; i++) {
      comes(-i);
      await settled(9 + i);
    }
    expect(asked).toHaveLength(4);
    comes(-4); // That is more than two pages: all begin elsewhere, once.
    await settled(9);
    expect(asked).toHaveLength(7);
  });

  it("show equal items that are no records, and those of one page, as they are", async () => {
    const { first, second, shown } = await twoPages();
    first([1, 1]);
    second([1, { n: 9 }, { n: 9 }]);
    expect(await shown(5)).toEqual([1, 1, 1, { n: 9 }, { n: 9 }]);
  });
});

describe("an outbox", () => {
  it("gives a command once, however often it is asked to while that is under way", async () => {
    let given = 0;
    let end = (): void => undefined;
    const box = new Outbox<string>(
      () => {
        given++;
        return new Promise<void>((resolve) => (end = resolve));
      },
      (text) => text,
    );
    box.subscribe(() => undefined);
    const sending = [box.send("one"), box.send("one")];
    end();
    await Promise.all(sending);
    expect(given).toBe(1);
    expect(box.entries()).toEqual([{ command: "one", state: "taken", error: undefined }]);
  });

  it("knows what was done, whatever a listener throws, and tells the other listeners", async () => {
    await uncaught(async (thrown) => {
      const box = new Outbox<string>(
        () => Promise.resolve(),
        (text) => text,
      );
      let told = 0;
      box.subscribe(() => {
        throw new Error("a listener's");
      });
      box.subscribe(() => told++);
      await box.send("one");
      expect(box.entries()).toEqual([{ command: "one", state: "taken", error: undefined }]);
      await vi.waitFor(() => expect(thrown).toHaveLength(told));
      expect(told).toBe(2);
    });
  });
});

describe("a result that came with the page", () => {
  it("keeps no connection open when it was looked at and nobody watches it", async () => {
    const shared = client({ keepFor: 0, keepConnectionFor: 0, first: [{ view: "a", params: {}, tag: "t1", value: 1 }] });
    expect(shared.live("a", {}).snapshot().value).toBe(1);
    const stop = shared.live("b", {}).subscribe(() => undefined);
    await (await server.connection()).subscribed();
    stop();
    await vi.waitFor(() => expect(shared.state).toBe("idle"));
    expect(shared.live("a", {}).snapshot().value).toBe(1);
  });
});

describe("a server that takes connections and says nothing", () => {
  /** Seen: one more with each attempt, and a browser has six for all that a page asks of a server. */
  it("is asked one thing at a time whether sockets get through", async () => {
    let asked = 0;
    const open = new Set<unknown>();
    server.onRequest = (request, response) => {
      asked++;
      open.add(request);
      response.on("close", () => open.delete(request));
    };
    const refused = (): never => {
      throw new Error("no socket");
    };
    client({ webSocket: refused })
      .live("timeline", {})
      .subscribe(() => undefined);
    await vi.waitFor(() => expect(asked).toBeGreaterThan(10), 10_000);
    expect(open.size).toBeLessThan(6);
  });
});

describe("an event stream that takes another's place", () => {
  /** What a stream is asked for, and how the test answers; one that is not answered is a black hole. */
  interface Asked {
    greet(heartbeat?: number): void;
    say(message: object): void;
    refuse(status: number, problem: object): void;
  }

  let asked: Asked[];
  let page: Client;

  /** Timers and streams take turns: what a stream says is read in many small steps. */
  const pass = async (milliseconds: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  };

  const watched = async (): Promise<ReturnType<Client["live"]>> => {
    const live = page.live("timeline", {});
    live.subscribe(() => undefined);
    await pass(0);
    asked[0]?.greet();
    asked[0]?.say(result(1, "old"));
    await pass(0);
    expect(live.snapshot()).toMatchObject({ value: "old", freshness: "live" });
    return live;
  };

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    asked = [];
    page = client({
      transport: "sse",
      keepConnectionFor: 60_000,
      fetch: (_, init) =>
        new Promise<Response>((resolve, reject) => {
          let say = (_: object): void => undefined;
          const body = new ReadableStream<Uint8Array>({
            start: (out) => {
              say = (message) => out.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(message)}\n\n`));
              init?.signal?.addEventListener("abort", () => {
                reject(new Error("aborted"));
                out.error(new Error("aborted"));
              });
            },
          });
          asked.push({
            greet: (heartbeat = 15_000) => {
              say({ type: "hello", protocol: 1, heartbeat });
              resolve(new Response(body));
            },
            say: (message) => say(message),
            refuse: (status, problem) => resolve(new Response(JSON.stringify(problem), { status })),
          });
        }),
    });
  });

  afterEach(() => vi.useRealTimers());

  it("is doubted when the other would have been, and given up when nothing comes", async () => {
    const live = await watched();
    await pass(10_000);
    page.live("other", {}).subscribe(() => undefined);
    await pass(9_400);
    expect(asked).toHaveLength(2);
    expect([live.snapshot().freshness, page.state]).toEqual(["live", "open"]);
    await pass(200);
    expect([live.snapshot().freshness, page.state]).toEqual(["offline", "probing"]);
    await pass(10_300);
    expect(page.state).toBe("probing"); // It may have to wait.
    await pass(200);
    expect(page.state).not.toBe("probing");
    expect(asked).toHaveLength(3);
  });

  it("may have to wait: it is trusted again when it begins, each view by its own word, and never asked for twice", async () => {
    const live = await watched();
    page.live("other", {}).subscribe(() => undefined);
    await pass(19_800);
    expect(live.snapshot().freshness).toBe("offline");
    asked[1]?.greet();
    await pass(0);
    expect([live.snapshot().freshness, page.state]).toEqual(["offline", "open"]);
    asked[1]?.say(result(1, "new"));
    await pass(0);
    expect(live.snapshot()).toMatchObject({ value: "new", freshness: "live" });
    await pass(19_400);
    expect(asked).toHaveLength(2);
    expect(page.state).toBe("open");
    await pass(200);
    expect(page.state).toBe("probing");
    expect(asked).toHaveLength(3);
  });

  it("is there, but for a second only what it has not spoken of is taken to be as it was", async () => {
    const live = await watched();
    page.live("other", {}).subscribe(() => undefined);
    await pass(500);
    asked[1]?.greet();
    await pass(900);
    expect(live.snapshot().freshness).toBe("live");
    page.live("third", {}).subscribe(() => undefined); // One that comes in between gives no more time.
    await pass(0);
    asked[2]?.greet();
    await pass(200);
    expect([live.snapshot().freshness, page.state]).toEqual(["offline", "open"]);
    asked[2]?.say({ type: "unchanged", id: 1, tag: "t", freshness: "current" });
    await pass(0);
    expect(live.snapshot().freshness).toBe("live");
    await pass(5_000);
    expect(live.snapshot().freshness).toBe("live");
  });

  it("is trusted again when it is refused, as somebody was there to do so", async () => {
    await watched();
    page.live("other", {}).subscribe(() => undefined);
    await pass(19_700);
    expect(page.state).toBe("probing");
    asked[1]?.refuse(413, { type: "too-large", status: 413, detail: "Too long." });
    await pass(0);
    expect(page.state).toBe("open");
    await pass(59_000);
    expect(page.state).toBe("open");
    expect(asked).toHaveLength(2);
  });

  it("need not come: who watches nothing expects nothing", async () => {
    const stop = page.live("timeline", {}).subscribe(() => undefined);
    await pass(0);
    asked[0]?.greet(1_000);
    await pass(0);
    stop();
    await pass(50_000);
    expect(page.state).toBe("open");
    expect(asked).toHaveLength(1);
    page.live("other", {}).subscribe(() => undefined);
    await pass(10_000);
    expect(page.state).toBe("open");
  });
});

// @vitest-environment happy-dom
import { createElement as h, StrictMode, Suspense, type ReactElement } from "react";
import { flushSync } from "react-dom";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { WebSocket as NodeWebSocket } from "ws";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createClient, type Client, type ClientOptions } from "../src/index.js";
import { EvergreenProvider, useCommand, useConnection, useLive, useLivePages, type Action } from "../src/react.js";
import { TestServer, type Connection } from "./server.js";

// The real client over real sockets, under StrictMode, which mounts every component twice.
let server: TestServer;
let client: Client;
let root: Root;
let page: HTMLElement;

function newClient(options: ClientOptions = {}): Client {
  return createClient({
    url: server.url,
    reconnectBase: 5,
    keepFor: 20,
    webSocket: (url) => new NodeWebSocket(url) as unknown as WebSocket,
    // The browser's that this test has would ask the server by CORS first.
    fetch: (address, init) => nodeFetch(address, init),
    ...options,
  });
}

let nodeFetch: typeof fetch;

beforeEach(async () => {
  server = await TestServer.start();
  nodeFetch = async (address, init) => {
    const { request } = await import("node:http");
    return new Promise((resolve, reject) => {
      const asked = request(String(address), { method: init?.method ?? "GET" }, (answer) => {
        answer.resume().on("end", () => resolve(new Response(null, { status: answer.statusCode ?? 500 })));
      });
      asked.on("error", reject).end(init?.body as string);
    });
  };
  client = newClient();
  page = document.createElement("div");
  root = createRoot(page);
});

afterEach(async () => {
  flushSync(() => root.unmount());
  client.close();
  await server.stop();
});

const text = (): string => page.textContent ?? "";
const inside = (what: ReactElement): ReactElement => h(StrictMode, null, h(EvergreenProvider, { client }, what));
const show = (what: ReactElement): void => flushSync(() => root.render(inside(what)));
const until = (expected: string): Promise<void> => vi.waitFor(() => expect(text()).toBe(expected), 5_000);

/** A connection's other end, which answers what is asked for by the name of a user or a cursor. */
async function answering(connection: Connection, values: Record<string, unknown>): Promise<() => Promise<void>> {
  return async () => {
    const asked = await connection.subscribed();
    const key = String(asked.params["user"] ?? asked.params["after"] ?? "first");
    connection.result(asked.id, key, values[key]);
  };
}

function Timeline({ user, keep = false }: { user: string | null; keep?: boolean }): ReactElement {
  const seen = useLive("timeline", user === null ? null : { user }, { keepPrevious: keep });
  return h("p", null, `${seen.status} ${String(seen.value)} ${seen.freshness}${seen.previous ? " previous" : ""}`);
}

describe("useLive", () => {
  it("asks once though mounted twice, and shows values, errors and freshness", async () => {
    show(h(Timeline, { user: "alice" }));
    expect(text()).toBe("loading undefined offline");
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.result(id, "1", "hi");
    await until("value hi live");
    connection.say({
      type: "error",
      id,
      tag: "2",
      freshness: "in-doubt",
      error: { type: "timeout", message: "late", status: 504 },
    });
    await until("failed hi in-doubt");
    connection.result(id, "3", "ho");
    await until("value ho live");
    expect(connection.untaken).toBe(0);
    expect(server.connections).toHaveLength(1);
  });

  it("takes fresh objects of the same content for the same, and gives up what is no longer shown", async () => {
    show(h(Timeline, { user: "alice" }));
    const connection = await server.connection();
    const alice = await connection.subscribed();
    connection.result(alice.id, "1", "hi");
    await until("value hi live");
    show(h(Timeline, { user: "alice" }));
    expect(connection.untaken).toBe(0);
    show(h(Timeline, { user: "bob" }));
    expect(text()).toBe("loading undefined offline");
    expect(await connection.subscribed()).toMatchObject({ params: { user: "bob" } });
    expect(await connection.next()).toEqual({ type: "unsubscribe", id: alice.id });
  });

  it("skips what has no parameters", async () => {
    show(h(Timeline, { user: null }));
    expect(text()).toBe("skipped undefined offline");
    expect(client.state).toBe("idle");
  });

  it("keeps the former value while another loads, but not that of another caller", async () => {
    show(h(Timeline, { user: "alice", keep: true }));
    let connection = await server.connection();
    const alice = await connection.subscribed();
    connection.result(alice.id, "1", "hi");
    await until("value hi live");
    show(h(Timeline, { user: "bob", keep: true }));
    expect(text()).toBe("value hi offline previous");
    const bob = await connection.subscribed();
    connection.result(bob.id, "1", "ho");
    await until("value ho live");
    client.reconnect();
    await until("loading undefined offline");
    connection = await server.connection();
    await connection.subscribed();
  });

  it("suspends until the first result", async () => {
    function Suspending(): ReactElement {
      return h("p", null, String(useLive("timeline", { user: "alice" }, { suspense: true }).value));
    }
    show(h(Suspense, { fallback: "waiting" }, h(Suspending)));
    expect(text()).toBe("waiting");
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.result(id, "1", "hi");
    await until("hi");
    connection.result(id, "2", "ho");
    await until("ho");
    expect(connection.untaken).toBe(0);
  });

  it("shows what came with the page at once, also on the server, and asks only for what is newer", async () => {
    const first = [{ view: "timeline", params: { user: "alice" }, tag: "7", value: "early" }];
    client.close();
    client = newClient({ first });
    const html = renderToString(inside(h(Timeline, { user: "alice" })));
    expect(html).toBe("<p>value early offline</p>");
    page = document.createElement("div");
    page.innerHTML = html;
    const complained = vi.spyOn(console, "error");
    root = hydrateRoot(page, inside(h(Timeline, { user: "alice" })));
    const connection = await server.connection();
    const asked = await connection.subscribed();
    expect(asked.have).toBe("7");
    connection.say({ type: "unchanged", id: asked.id, tag: "7", freshness: "current" });
    await until("value early live");
    expect(complained).not.toHaveBeenCalled();
    complained.mockRestore();
  });

  it("takes what came with the page from the page", async () => {
    const script = document.createElement("script");
    script.id = "evergreen-first";
    script.type = "application/json";
    script.textContent = JSON.stringify([{ view: "timeline", params: { user: "eve" }, tag: "1", value: "</p>" }]);
    document.body.append(script);
    client.close();
    client = newClient();
    script.remove();
    show(h(Timeline, { user: "eve" }));
    expect(text()).toBe("value </p> offline");
  });
});

describe("useLivePages", () => {
  it("asks for each page where the one before ends, and again when that has changed", async () => {
    let more = (): void => undefined;
    function List(): ReactElement {
      const pages = useLivePages("list", {}, "after");
      more = pages.more;
      return h("p", null, `${pages.items.join("")}${pages.hasMore ? "+" : ""}${pages.loading ? "…" : ""}`);
    }
    show(h(List));
    expect(text()).toBe("…");
    const connection = await server.connection();
    const answer = await answering(connection, {
      first: { items: ["a", "b"], next: "b" },
      b: { items: ["c", "d"], next: "d" },
      c: { items: ["d"], next: null },
    });
    await answer();
    await until("ab+");
    more();
    await until("ab…");
    await answer();
    await until("abcd+");
    connection.result(1, "longer", { items: ["a", "b", "c"], next: "c" });
    await answer();
    await until("abcd");
  });
});

describe("useCommand", () => {
  let follow: Action<[Record<string, unknown>]>;

  function Button(): ReactElement {
    const followed = useLive("following", { name: "bob" });
    follow = useCommand("follow", {
      optimistic: { following: (was, command, params) => was || command["name"] === params["name"] },
    });
    const failed = follow.error === undefined ? "" : " failed";
    return h("p", null, `${String(followed.value)}${followed.pending ? " pending" : ""}${failed}`);
  }

  it("shows what is assumed, takes it back on failure, and has it confirmed by a result", async () => {
    let status = 500;
    let answer = (): void => undefined;
    server.onRequest = (request, response) => {
      request.resume();
      answer = () => response.writeHead(status).end();
    };
    show(h(Button));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.result(id, "1", false);
    await until("false");

    const give = async (): Promise<Promise<boolean>[]> => {
      answer = () => undefined;
      const given = follow.run({ name: "bob" });
      await until("true pending");
      await vi.waitFor(() => expect(String(answer)).toContain("writeHead"));
      return [given];
    };
    const [refused] = await give();
    answer();
    expect(await refused).toBe(false);
    await until("false failed");

    status = 204;
    const [taken] = await give();
    answer();
    expect(await taken).toBe(true);
    await until("true pending");
    connection.result(id, "2", true);
    await until("true");
    connection.result(id, "3", false);
    await until("false");
  });
});

describe("useConnection", () => {
  it("tells whether all that is watched is live", async () => {
    function State(): ReactElement {
      useLive("timeline", { user: "alice" });
      const { state, freshness } = useConnection();
      return h("p", null, `${state} ${String(freshness)}`);
    }
    show(h(State));
    const connection = await server.connection();
    const { id } = await connection.subscribed();
    connection.result(id, "1", "hi");
    await until("open live");
    await server.stop();
    await until("waiting offline");
    await server.listen();
    const again = await server.connection();
    again.result((await again.subscribed()).id, "2", "ho");
    await until("open live");
  });
});

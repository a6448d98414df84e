import { WebSocket as NodeWebSocket } from "ws";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createClient, type Client, type ClientOptions } from "../src/index.js";

// The web module's ClientJsTest starts the server and names it here.
const url = process.env["EVERGREEN_SERVER"];

const opened: Client[] = [];
let sockets: NodeWebSocket[] = [];

function client(options: ClientOptions = {}): Client {
  const made = createClient({
    url: url ?? "",
    reconnectBase: 5,
    webSocket: (address) => {
      const socket = new NodeWebSocket(address);
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    ...options,
  });
  opened.push(made);
  return made;
}

afterEach(() => {
  opened.splice(0).forEach((made) => made.close());
  sockets = [];
});

describe.skipIf(url === undefined)("with the server of the web module", () => {
  for (const transport of ["websocket", "sse"] as const) {
    it(`a command's effect arrives over ${transport}`, async () => {
      const board = `by ${transport}`;
      const used = client({ transport });
      const notes: unknown[] = [];
      for await (const value of used.live("board", { name: board })) {
        notes.push(value);
        if (notes.length === 3) {
          break;
        }
        await used.command("write", { board, note: `note ${notes.length}` });
      }
      expect(notes).toEqual([[], ["note 1"], ["note 1", "note 2"]]);
    });
  }

  it("a lost connection is resumed, and what was missed arrives", async () => {
    const used = client();
    const live = used.live("board", { name: "resumed" });
    const seen: string[] = [];
    live.subscribe((snapshot) => seen.push(`${snapshot.freshness} ${JSON.stringify(snapshot.value)}`));
    await vi.waitFor(() => expect(seen.at(-1)).toBe("live []"));
    sockets[0]?.terminate();
    await vi.waitFor(() => expect(seen).toContain("offline []"));
    await vi.waitFor(() => expect(seen.at(-1)).toBe("live []"));
    sockets[1]?.terminate();
    await used.command("write", { board: "resumed", note: "missed" });
    await vi.waitFor(() => expect(seen.at(-1)).toBe('live ["missed"]'));
  });

  it("refusals have a type and a message", async () => {
    const used = client();
    const loop = async (view: string, params: Record<string, unknown>): Promise<void> => {
      for await (const value of used.live(view, params)) {
        throw new Error(String(value));
      }
    };
    await expect(loop("nothing", {})).rejects.toMatchObject({ type: "no-such-view", status: 404 });
    await expect(loop("board", { name: 1 })).rejects.toMatchObject({
      type: "bad-params",
      message: "Field 'name' must be a string.",
    });
    await expect(used.command("write", { board: "b" })).rejects.toMatchObject({ type: "bad-params", status: 400 });
    await expect(used.command("nothing", {})).rejects.toMatchObject({ type: "no-such-command", status: 404 });
  });

  for (const transport of ["websocket", "sse"] as const) {
    it(`of a long list only what is new comes over ${transport}, and all of it to who has missed something`, async () => {
      const texts: string[] = [];
      const used = client({
        transport,
        webSocket: (address) => {
          const socket = new NodeWebSocket(address);
          socket.on("message", (data) => texts.push(String(data)));
          return socket as unknown as WebSocket;
        },
        fetch: async (address, init) => {
          const response = await fetch(address, init);
          if (response.body === null || !String(address).includes("live")) {
            return response;
          }
          const [body, heard] = response.body.tee();
          void heard
            .pipeTo(new WritableStream({ write: (part) => void texts.push(new TextDecoder().decode(part)) }))
            .catch(() => undefined);
          return new Response(body, { status: response.status });
        },
      });
      const board = used.live("board", { name: `long ${transport}` });
      board.subscribe(() => undefined);
      const notes: string[] = [];
      for (let i = 0; i < 30; i++) {
        notes.push(`a note of some length, number ${i}`);
        await used.command("write", { board: `long ${transport}`, note: notes[i] ?? "" });
        if (i % 3 > 0) {
          await vi.waitFor(() => expect(board.snapshot().value).toHaveLength(i + 1));
        }
      }
      await vi.waitFor(() => expect(board.snapshot().value).toEqual(notes));
      expect(texts.join("")).toContain('"delta":{"items":[[0,29],{"add":["a note of some length, number 29"]}]}');
    });

    it(`more views than a connection may watch are no flood over ${transport}`, async () => {
      const used = client({ transport });
      const boards = Array.from({ length: 160 }, (_, i) => used.live("board", { name: `many ${i}` }));
      const stops = boards.map((board) => board.subscribe(() => undefined));
      const waiting = (): number => boards.filter((b) => b.snapshot().error?.type === "too-many-subscriptions").length;
      const live = (): number => boards.filter((b) => b.snapshot().freshness === "live").length;
      await vi.waitFor(() => expect([live(), waiting()]).toEqual([100, 60]), 10_000);
      stops.slice(0, 60).forEach((stop) => stop());
      await vi.waitFor(() => expect(boards.slice(60).every((b) => b.snapshot().freshness === "live")).toBe(true), 10_000);
      expect(sockets).toHaveLength(transport === "sse" ? 0 : 1);
    });
  }

  it("who shows and hides views without a pause is not cut", async () => {
    const used = client({ keepFor: 0, keepConnectionFor: 60_000 });
    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
    const watched = (name: string): Promise<unknown> =>
      vi.waitFor(() => expect(used.live("board", { name }).snapshot().freshness).toBe("live"), 60_000);
    used.live("board", { name: "stays" }).subscribe(() => undefined);
    await watched("stays");
    for (let i = 0; i < 300; i++) {
      const stop = used.live("board", { name: `passing ${i}` }).subscribe(() => undefined);
      await turn();
      stop();
      await turn();
    }
    used.live("board", { name: "last" }).subscribe(() => undefined);
    await watched("last");
    expect(sockets).toHaveLength(1);
  });

  it("many views share one connection", async () => {
    const used = client();
    const boards = Array.from({ length: 50 }, (_, i) => used.live("board", { name: `b${i}` }));
    boards.forEach((board) => board.subscribe(() => undefined));
    await vi.waitFor(() => boards.forEach((board) => expect(board.snapshot().freshness).toBe("live")), 10_000);
    expect(sockets).toHaveLength(1);
  });
});

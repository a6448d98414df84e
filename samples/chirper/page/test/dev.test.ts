// @vitest-environment node
import { createServer as createHttp, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";

/** What the server behind `npm run dev` hears. */
const heard: IncomingHttpHeaders[] = [];
const behind = createHttp((request, response) => {
  heard.push(request.headers);
  response.end();
});
let dev: Awaited<ReturnType<typeof createServer>>;

beforeAll(async () => {
  await new Promise<void>((resolve) => behind.listen(0, "127.0.0.1", resolve));
  process.env["CHIRPER"] = `http://127.0.0.1:${(behind.address() as AddressInfo).port}`;
  dev = await createServer({
    server: { port: 0, host: "127.0.0.1" },
    optimizeDeps: { noDiscovery: true },
    logLevel: "error",
  });
  await dev.listen();
});

afterAll(async () => {
  await dev.close();
  behind.close();
  delete process.env["CHIRPER"];
});

it("a page of the development server is one of Chirper's own", async () => {
  const origin = `http://127.0.0.1:${(dev.httpServer?.address() as AddressInfo).port}`;
  for (const path of ["/commands/sign-in", "/sign-out", "/live"]) {
    await fetch(origin + path, { method: "POST", headers: { Origin: origin } });
    // The server compares the two; see "Who may" in docs/web-protocol.md.
    expect(`http://${heard.at(-1)?.host}`).toBe(origin);
    expect(heard.at(-1)?.origin).toBe(origin);
  }
});

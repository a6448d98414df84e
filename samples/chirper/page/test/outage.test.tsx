import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EvergreenProvider, useLive } from "@evergreen/client/react";
import { client } from "../src/api";
import { LiveBadge, OfflineBanner } from "../src/LiveBadge";

/** A WebSocket whose other end is the test. */
class HandSocket {
  static all: HandSocket[] = [];
  onmessage: (event: { data: string }) => void = () => undefined;
  onclose: () => void = () => undefined;

  constructor() {
    HandSocket.all.push(this);
  }

  /** Whether it knows the results that it is asked for. */
  static knows = true;

  send(message: string): void {
    const { type, id } = JSON.parse(message) as { type: string; id: number };
    if (type === "subscribe" && HandSocket.knows) this.say({ type: "result", id, tag: "t", freshness: "current", value: { items: [], next: null } });
  }

  greet(): void {
    this.say({ type: "hello", protocol: 1, heartbeat: 3_600_000 });
  }

  close(): void {}

  private say(message: object): void {
    this.onmessage({ data: JSON.stringify(message) });
  }
}

function Page() {
  useLive("timeline", {});
  return (
    <>
      <LiveBadge />
      <OfflineBanner />
    </>
  );
}

const newest = () => HandSocket.all.at(-1)!;
const pass = (millis: number) => act(() => vi.advanceTimersByTimeAsync(millis));
const answer = () =>
  act(async () => {
    newest().greet();
    await vi.advanceTimersByTimeAsync(0);
  });

beforeEach(async () => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", HandSocket);
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("down")));
  HandSocket.all = [];
  HandSocket.knows = true;
  render(
    <EvergreenProvider client={client}>
      <Page />
    </EvergreenProvider>,
  );
  await pass(0);
});

afterEach(async () => {
  cleanup();
  // Past the time for which the client keeps a connection that nothing needs.
  await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a page that loads or signs in says nothing of an outage", async () => {
  expect(screen.queryByRole("alert")).toBeNull();
  await pass(900);
  expect(screen.queryByRole("alert")).toBeNull();
  await answer();
  expect(screen.getByText("Live")).toBeTruthy();
  await act(async () => client.reconnect());
  expect(screen.queryByText("Not live")).toBeNull();
  await pass(900);
  expect(screen.queryByRole("alert")).toBeNull();
  await answer();
  await pass(5_000);
  expect(screen.getByText("Live")).toBeTruthy();
  expect(screen.queryByRole("alert")).toBeNull();
});

test("a server that stays away is told, until it is back", async () => {
  await answer();
  await act(async () => newest().onclose());
  expect(screen.queryByText("Not live")).toBeNull();
  await pass(1_000);
  expect(screen.getByText("Not live")).toBeTruthy();
  expect(screen.getByRole("alert").textContent).toContain("The server does not answer.");
  await pass(4_000);
  await answer();
  expect(screen.getByText("Live")).toBeTruthy();
  expect(screen.queryByRole("alert")).toBeNull();
});

test("what a new server has not confirmed is in doubt, and a first result that is late is not", async () => {
  HandSocket.knows = false;
  await answer();
  await pass(5_000);
  expect(screen.queryByRole("status")).toBeNull();
  await act(async () => newest().onclose());
  await pass(4_000);
  HandSocket.knows = true;
  await answer();
  expect(screen.getByText("Live")).toBeTruthy();

  HandSocket.knows = false;
  await act(async () => newest().onclose());
  await pass(4_000);
  await answer();
  await pass(1_000);
  expect(screen.getByText("In doubt")).toBeTruthy();
  await act(async () => newest().onclose());
  await pass(4_000);
  HandSocket.knows = true;
  await answer();
  expect(screen.getByText("Live")).toBeTruthy();
});

test("one can try at once, and the pauses between attempts do not grow long", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.999);
  await answer();
  for (let lost = 0; lost < 8; lost++) {
    await act(async () => newest().onclose());
    const attempts = HandSocket.all.length;
    await pass(4_000);
    expect(HandSocket.all).toHaveLength(attempts + 1);
  }
  await act(async () => newest().onclose());
  expect(client.state).toBe("waiting");
  const attempts = HandSocket.all.length;
  await act(async () => screen.getByRole("button", { name: "Try now" }).click());
  expect(HandSocket.all).toHaveLength(attempts + 1);
  await answer();
  expect(screen.getByText("Live")).toBeTruthy();
  vi.restoreAllMocks();
});

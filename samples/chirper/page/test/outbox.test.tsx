import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { App } from "../src/App";
import { go } from "../src/router";

/** A server that never opens a WebSocket. */
class NoSocket {
  close(): void {}
}

let signedIn: string;
let down: boolean;
let posted: string[];

/** Answers as Chirper does, but for the live views. */
async function serve(address: string | URL, init?: RequestInit): Promise<Response> {
  const { pathname } = new URL(address, location.href);
  if (pathname === "/session") return Response.json({ name: signedIn, now: new Date().toISOString(), ports: [] });
  if (pathname === "/sign-out") {
    signedIn = "";
    return new Response(null, { status: 204 });
  }
  if (down) throw new TypeError("down");
  const body = JSON.parse(String(init?.body)) as { name: string; text: string };
  if (pathname === "/commands/sign-in") {
    signedIn = body.name;
    return Response.json({ name: signedIn });
  }
  posted.push(`${signedIn}: ${body.text}`);
  return new Response(null, { status: 204 });
}

beforeEach(() => {
  down = false;
  posted = [];
  vi.stubGlobal("WebSocket", NoSocket);
  vi.stubGlobal("fetch", serve);
  vi.stubGlobal("scrollTo", () => undefined);
  go("/");
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const field = () => screen.findByRole<HTMLTextAreaElement>("textbox", { name: "New post" });

async function leaveAndComeBack(user: ReturnType<typeof userEvent.setup>): Promise<void> {
  await user.click(screen.getByRole("link", { name: "Search" }));
  await screen.findByRole("heading", { name: "People" });
  expect(screen.queryByRole("textbox", { name: "New post" })).toBeNull();
  await user.click(screen.getByRole("link", { name: "Home" }));
}

test("a half-written post is there when one comes back to it, and gone once it is sent", async () => {
  const user = userEvent.setup();
  signedIn = "ann";
  render(<App />);
  await user.type(await field(), "half a sent");
  await leaveAndComeBack(user);
  expect((await field()).value).toBe("half a sent");
  await user.type(await field(), "ence");
  await user.click(screen.getByRole("button", { name: "Post" }));
  await vi.waitFor(() => expect(posted).toEqual(["ann: half a sentence"]));
  await leaveAndComeBack(user);
  expect((await field()).value).toBe("");
  expect(screen.queryByText("sending…")).toBeNull();
});

test("a post that could not be sent waits until it is sent again or discarded", async () => {
  const user = userEvent.setup();
  signedIn = "ben";
  render(<App />);
  down = true;
  for (const text of ["first", "second"]) {
    await user.type(await field(), text);
    await user.click(screen.getByRole("button", { name: "Post" }));
  }
  await vi.waitFor(() => expect(screen.getAllByText(/This may not have been posted/)).toHaveLength(2));
  await leaveAndComeBack(user);
  const discards = await screen.findAllByRole("button", { name: "Discard" });
  expect(discards).toHaveLength(2);
  await user.click(discards[1]!);
  expect(screen.queryByText("first")).toBeNull();
  await leaveAndComeBack(user);
  expect(screen.queryByText("first")).toBeNull();
  down = false;
  await user.click(await screen.findByRole("button", { name: "Send again" }));
  await vi.waitFor(() => expect(posted).toEqual(["ben: second"]));
  await vi.waitFor(() => expect(screen.queryByText(/This may not have been posted/)).toBeNull());
});

test("what one person wrote is not shown to the next", async () => {
  const user = userEvent.setup();
  signedIn = "cat";
  render(<App />);
  await user.type(await field(), "of cat");
  const change = async (name: string) => {
    await user.click(screen.getByRole("button", { name: "Sign out" }));
    await user.type(await screen.findByRole("textbox", { name: "Your name" }), `${name}{Enter}`);
    return (await field()).value;
  };
  expect(await change("dog")).toBe("");
  expect(await change("cat")).toBe("of cat");
});

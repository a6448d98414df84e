import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { synchronise } from "../src/clock";
import { Frame } from "../src/Frame";
import { Home } from "../src/Home";
import { SessionProvider, useSession } from "../src/session";

const HOUR = 3_600_000;

/** A server that never opens a WebSocket. */
class NoSocket {
  close(): void {}
}

const posts: { at: string; text: string }[] = [];
let signedIn = "alice";
let serverAhead = 0;

function serverTime(): number {
  return Date.now() + serverAhead;
}

/** Answers as Chirper does, but for the live views. */
async function serve(address: string | URL, init?: RequestInit): Promise<Response> {
  const { pathname } = new URL(address, location.href);
  if (pathname === "/session") {
    return Response.json({ name: signedIn, now: new Date(serverTime()).toISOString(), ports: [] });
  }
  const post = JSON.parse(String(init?.body)) as { at: string; text: string };
  if (Math.abs(Date.parse(post.at) - serverTime()) > HOUR / 12) {
    return Response.json({ type: "wrong-time", detail: "The post is of another time." }, { status: 422 });
  }
  posts.push(post);
  return new Response(null, { status: 204 });
}

beforeEach(() => {
  posts.length = 0;
  signedIn = "alice";
  serverAhead = 0;
  vi.stubGlobal("WebSocket", NoSocket);
  vi.stubGlobal("fetch", serve);
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function Who() {
  return <p>{useSession().name ?? "nobody"}</p>;
}

test.each([-HOUR, HOUR])("a clock that went wrong by %i ms does not keep one from posting", async (wrong) => {
  const user = userEvent.setup();
  render(
    <SessionProvider waiting={() => "waiting"}>
      <Home />
    </SessionProvider>,
  );
  await screen.findByRole("textbox", { name: "New post" });
  // Another clock than when the page was loaded: whatever is sent first is of a wrong time.
  serverAhead = wrong;
  await user.type(screen.getByRole("textbox", { name: "New post" }), "hello");
  await user.click(screen.getByRole("button", { name: "Post" }));
  await vi.waitFor(() => expect(posts.map((post) => post.text)).toEqual(["hello"]));
  expect(screen.queryByRole("alert")).toBeNull();
  synchronise(new Date().toISOString());
});

test("who signs in or out in another tab does so in this one too", async () => {
  render(
    <SessionProvider waiting={() => "waiting"}>
      <Who />
    </SessionProvider>,
  );
  await screen.findByText("alice");
  const otherTab = new BroadcastChannel("chirper-session");
  signedIn = "bob";
  otherTab.postMessage("changed");
  await screen.findByText("bob");
  signedIn = "";
  otherTab.postMessage("changed");
  await screen.findByText("nobody");
  otherTab.close();
});

test("a page that is looked at again asks who is signed in", async () => {
  render(
    <SessionProvider waiting={() => "waiting"}>
      <Who />
    </SessionProvider>,
  );
  await screen.findByText("alice");
  signedIn = "";
  document.dispatchEvent(new Event("visibilitychange"));
  await screen.findByText("nobody");
});

test("an answer counts though it was asked again meanwhile, unless that was answered before", async () => {
  const asked: ((answer: Response | Promise<Response>) => void)[] = [];
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => asked.push(resolve)));
  const answer = (name: string) => Response.json({ name, now: new Date().toISOString(), ports: [] });
  const again = async () => {
    const before = asked.length;
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.waitFor(() => expect(asked).toHaveLength(before + 1));
  };
  const names: string[] = [];
  const Names = () => {
    const name = useSession().name ?? "nobody";
    if (name !== names.at(-1)) names.push(name);
    return <p>{name}</p>;
  };
  render(
    <SessionProvider waiting={() => "waiting"}>
      <Names />
    </SessionProvider>,
  );
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  await again();
  asked[1]?.(Promise.reject(new TypeError("no network")));
  asked[0]?.(answer("alice"));
  await screen.findByText("alice");
  await again();
  await again();
  asked[3]?.(answer("carol"));
  await screen.findByText("carol");
  const overtaken = answer("bob");
  const read = vi.spyOn(overtaken, "json");
  // All that comes of the answer is done before the next one is given.
  await act(async () => {
    asked[2]?.(overtaken);
    await vi.waitFor(() => expect(read).toHaveBeenCalled());
    await read.mock.results[0]?.value;
    await new Promise((resolve) => setTimeout(resolve));
  });
  await again();
  asked[4]?.(answer("dave"));
  await screen.findByText("dave");
  expect(names).toEqual(["alice", "carol", "dave"]);
});

test("only who is signed in is told how to write a post", async () => {
  const around = () =>
    render(
      <SessionProvider waiting={() => "waiting"}>
        <Frame route={{ page: "search", query: "" }}>{null}</Frame>
      </SessionProvider>,
    );
  around();
  await screen.findByText("look for people");
  expect(screen.getByText("write a post")).toBeTruthy();
  cleanup();
  signedIn = "";
  around();
  await screen.findByText("look for people");
  expect(screen.queryByText("write a post")).toBeNull();
});

import { act, cleanup, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Posts } from "../src/Posts";
import { SessionProvider } from "../src/session";

beforeEach(() => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ name: "ann", now: new Date().toISOString(), ports: [] })));
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function list(...texts: string[]) {
  const chirps = texts.map((text) => ({ author: "ann", at: `2025-11-21T11:00:0${text.length}Z`, text }));
  return (
    <SessionProvider waiting={() => null}>
      <h1 tabIndex={-1}>Home</h1>
      {chirps.length > 0 && <Posts chirps={chirps} count={50} onMore={() => undefined} />}
    </SessionProvider>
  );
}

test("the focus goes on to the next post, or the heading, when its own post goes", async () => {
  const { container, rerender } = render(list("three", "one!", "two"));
  await vi.waitFor(() => expect(container.querySelectorAll("button")).toHaveLength(3));
  container.querySelectorAll("button")[1]!.focus();
  await act(async () => rerender(list("three", "two")));
  expect(document.activeElement?.textContent).toContain("two");
  await act(async () => rerender(list("three")));
  expect(document.activeElement?.textContent).toContain("three");
  await act(async () => rerender(list()));
  expect(document.activeElement?.tagName).toBe("H1");
});

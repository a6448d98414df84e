import { act, cleanup, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Further } from "../src/More";
import { Posts } from "../src/Posts";
import { SessionProvider } from "../src/session";

beforeEach(() => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ name: "ann", now: new Date().toISOString(), ports: [] })));
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const NO_MORE = { hasMore: false, loading: false, more: () => undefined };

function list(texts: string[], pages: Further = NO_MORE) {
  const chirps = texts.map((text) => ({ author: "ann", at: `2025-11-21T11:00:0${text.length}Z`, text }));
  return (
    <SessionProvider waiting={() => null}>
      <h1 tabIndex={-1}>Home</h1>
      {chirps.length > 0 && <Posts chirps={chirps} pages={pages} />}
    </SessionProvider>
  );
}

test("the focus goes on to the next post, or the heading, when its own post goes", async () => {
  const { container, rerender } = render(list(["three", "one!", "two"]));
  await vi.waitFor(() => expect(container.querySelectorAll("button")).toHaveLength(3));
  container.querySelectorAll("button")[1]!.focus();
  await act(async () => rerender(list(["three", "two"])));
  expect(document.activeElement?.textContent).toContain("two");
  await act(async () => rerender(list(["three"])));
  expect(document.activeElement?.textContent).toContain("three");
  await act(async () => rerender(list([])));
  expect(document.activeElement?.tagName).toBe("H1");
});

test("who asks for older posts by keyboard is at the first of them, also when there are no more", async () => {
  const more = vi.fn();
  const { container, rerender } = render(list(["three"], { hasMore: true, loading: false, more }));
  const button = await vi.waitFor(() => {
    const found = container.querySelector<HTMLButtonElement>("button.more");
    expect(found).not.toBeNull();
    return found!;
  });
  button.focus();
  button.click();
  expect(more).toHaveBeenCalledOnce();
  await act(async () => rerender(list(["three"], { hasMore: false, loading: true, more })));
  expect(document.activeElement).toBe(button);
  button.click(); // Maybe what loads are other pages: the list knows.
  expect(more).toHaveBeenCalledTimes(2);
  await act(async () => rerender(list(["three", "two", "o"])));
  expect(container.querySelector("button.more")).toBeNull();
  expect(document.activeElement?.textContent).toContain("two");
});

test("who asked for older posts, and got none, keeps the focus when others come later", async () => {
  const { container, rerender } = render(list(["three"], { hasMore: true, loading: false, more: () => undefined }));
  const button = await vi.waitFor(() => {
    const found = container.querySelector<HTMLButtonElement>("button.more");
    expect(found).not.toBeNull();
    return found!;
  });
  button.click();
  await act(async () => rerender(list(["three"], { hasMore: false, loading: true, more: () => undefined })));
  await act(async () => rerender(list(["three"])));
  const heading = container.querySelector("h1")!;
  heading.focus();
  await act(async () => rerender(list(["three", "two"])));
  expect(document.activeElement).toBe(heading);
});

test("who is slow with a pointer can remove a post", async () => {
  const { container } = render(list(["one!"]));
  await vi.waitFor(() => expect(container.querySelector("button")).not.toBeNull());
  const button = container.querySelector("button")!;
  vi.useFakeTimers();
  act(() => button.click());
  act(() => vi.advanceTimersByTime(19_000));
  expect(button.textContent).toBe("Really remove?");
  act(() => vi.advanceTimersByTime(1_000));
  expect(button.textContent).toBe("Remove");
});

// @vitest-environment happy-dom
import { act, createElement, type ReactElement } from "react";
import { createRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Client, Live, Snapshot } from "../src/index.js";
import { useLive } from "../src/react.js";
import { INITIAL } from "../src/shared.js";

(globalThis as Record<string, unknown>)["IS_REACT_ACT_ENVIRONMENT"] = true;

/** A client whose snapshots the test decides; the real one is tested over sockets. */
class HandClient {
  readonly watched = new Map<string, { snapshot: Snapshot<unknown>; listeners: Set<() => void> }>();

  live(view: string, params: unknown): Live<unknown> {
    const key = `${view} ${JSON.stringify(params)}`;
    const of = (): { snapshot: Snapshot<unknown>; listeners: Set<() => void> } => {
      const found = this.watched.get(key) ?? { snapshot: INITIAL, listeners: new Set() };
      this.watched.set(key, found);
      return found;
    };
    return {
      snapshot: () => this.watched.get(key)?.snapshot ?? INITIAL,
      subscribe: (listener) => {
        const tell = (): void => listener(of().snapshot);
        of().listeners.add(tell);
        return () => of().listeners.delete(tell);
      },
      [Symbol.asyncIterator]: () => {
        throw new Error("not used");
      },
    };
  }

  show(key: string, change: Partial<Snapshot<unknown>>): void {
    const found = this.watched.get(key);
    if (found === undefined) {
      throw new Error(`${key} is not watched`);
    }
    found.snapshot = { ...found.snapshot, ...change };
    found.listeners.forEach((listener) => listener());
  }

  listeners(key: string): number {
    return this.watched.get(key)?.listeners.size ?? 0;
  }
}

let root: Root;
let page: HTMLElement;
let hand: HandClient;
let renders: number;

function Timeline({ user }: { user: string | null }): ReactElement {
  renders++;
  const { value, error, loading, freshness } = useLive(
    "timeline",
    user === null ? null : { user },
    hand as unknown as Client,
  );
  return createElement("p", null, loading ? "loading" : `${String(value)} ${error?.type ?? "ok"} ${freshness}`);
}

const text = (): string => page.textContent ?? "";
const show = (user: string | null): Promise<void> =>
  act(async () => root.render(createElement(Timeline, { user })));

beforeEach(() => {
  page = document.createElement("div");
  root = createRoot(page);
  hand = new HandClient();
  renders = 0;
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe("useLive", () => {
  it("is loading, then shows values, errors and freshness", async () => {
    await show("alice");
    expect(text()).toBe("loading");
    const key = 'timeline {"user":"alice"}';
    await act(async () => hand.show(key, { value: "hi", loading: false, tag: "1", freshness: "live" }));
    expect(text()).toBe("hi ok live");
    const error = Object.assign(new Error("late"), { type: "timeout", status: 504 });
    await act(async () => hand.show(key, { error: error as never, freshness: "offline" }));
    expect(text()).toBe("hi timeout offline");
  });

  it("takes fresh objects of the same content for the same, and starts anew with others", async () => {
    await show("alice");
    await act(async () => hand.show('timeline {"user":"alice"}', { value: 1, loading: false }));
    const before = renders;
    await show("alice");
    expect(renders).toBe(before + 1);
    expect(hand.watched.size).toBe(1);
    await show("bob");
    expect(text()).toBe("loading");
    expect(hand.listeners('timeline {"user":"alice"}')).toBe(0);
    expect(hand.listeners('timeline {"user":"bob"}')).toBe(1);
    await act(async () => root.unmount());
    expect(hand.listeners('timeline {"user":"bob"}')).toBe(0);
  });

  it("watches nothing without parameters", async () => {
    await show(null);
    expect(text()).toBe("loading");
    expect(hand.watched.size).toBe(0);
  });

  it("renders on a server as loading", () => {
    expect(renderToString(createElement(Timeline, { user: "alice" }))).toBe("<p>loading</p>");
  });
});

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { applied, type Delta } from "../src/delta.js";

describe("a delta", () => {
  it("keeps the objects that have not changed", () => {
    const before = { posts: [{ id: 1 }, { id: 2 }, { id: 3 }], more: { of: "it" }, old: true };
    const after = applied(
      {
        fields: { posts: { items: [{ add: [{ id: 0 }] }, [0, 2]] }, count: { value: 3 } },
        gone: ["old"],
      },
      before,
    ) as typeof before;
    expect(after).toEqual({ posts: [{ id: 0 }, { id: 1 }, { id: 2 }], more: { of: "it" }, count: 3 });
    expect(after.posts[1]).toBe(before.posts[0]);
    expect(after.more).toBe(before.more);
    expect(before.posts).toHaveLength(3);
  });

  it("takes the items of a list for what they are, lists too", () => {
    expect(applied({ items: [{ add: [[1], [2]] }, [0, 1]] }, [[3]])).toEqual([[1], [2], [3]]);
  });

  // The web module's DeltaTest makes the file.
  const file = process.env["EVERGREEN_DELTAS"];
  it.skipIf(file === undefined)("of the server makes what the server has", () => {
    const cases = JSON.parse(readFileSync(file ?? "", "utf8")) as { from: unknown; to: unknown; delta: Delta }[];
    for (const { from, to, delta } of cases) {
      // As text: the order of fields counts.
      expect(JSON.stringify(applied(delta, from))).toBe(JSON.stringify(to));
    }
    expect(cases.length).toBeGreaterThan(1_000);
  });
});

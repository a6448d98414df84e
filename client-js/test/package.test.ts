import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

it("source maps hold the sources, which are not shipped", () => {
  const out = mkdtempSync(join(tmpdir(), "client-js-"));
  try {
    execFileSync("node", ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--outDir", out]);
    const maps = readdirSync(out).filter((name) => name.endsWith(".map"));
    expect(maps).toContain("client.js.map");
    for (const name of maps) {
      const map = JSON.parse(readFileSync(join(out, name), "utf8")) as { sources: string[]; sourcesContent?: string[] };
      expect(map.sourcesContent, name).toHaveLength(map.sources.length);
    }
  } finally {
    rmSync(out, { recursive: true });
  }
});

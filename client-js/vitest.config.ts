import { defineConfig } from "vitest/config";

// Far beyond what any test takes: a machine that is busy elsewhere is no failure, and one that hangs still ends.
export default defineConfig({ test: { testTimeout: 120_000, hookTimeout: 120_000 } });

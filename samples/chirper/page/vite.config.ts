import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Decoded, as the checkout's path may hold a space.
const client = (file: string) => decodeURIComponent(new URL(`../../../client-js/src/${file}`, import.meta.url).pathname);

// The browser's Host goes with its Origin, or the server would take the page for a foreign one.
const target = process.env["CHIRPER"] ?? "http://127.0.0.1:8080";
const server = { target, changeOrigin: false };

export default defineConfig({
  plugins: [react()],
  resolve: {
    // The client of this repository, from its source, so that building the page needs no other build before it.
    alias: [
      { find: /^@evergreen\/client\/react$/, replacement: client("react.ts") },
      { find: /^@evergreen\/client$/, replacement: client("index.ts") },
    ],
    dedupe: ["react", "react-dom"],
  },
  // Data URLs in the page would need an exception in the content security policy.
  build: { assetsInlineLimit: 0 },
  // `npm run dev` with a Chirper running at its usual port, or at the address in CHIRPER.
  server: {
    proxy: {
      "/live": { ...server, ws: true },
      "/commands": server,
      "/session": server,
      "/sign-out": server,
    },
  },
  test: { environment: "jsdom" },
});

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The browser's Host goes with its Origin, or the server would take the page for a foreign one.
const server = { target: "http://127.0.0.1:8080", changeOrigin: false };

export default defineConfig({
  plugins: [react()],
  resolve: { dedupe: ["react", "react-dom"] },
  // Data URLs in the page would need an exception in the content security policy.
  build: { assetsInlineLimit: 0 },
  server: { proxy: { "/live": { ...server, ws: true }, "/commands": server } },
  test: { environment: "jsdom", server: { deps: { inline: ["@evergreen/client"] } } },
});

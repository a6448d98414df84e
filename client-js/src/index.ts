export { createClient, defaultClient, live } from "./client.js";
export * from "./types.js";

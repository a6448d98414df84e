export { createClient, defaultClient, live } from "./client.js";
export * from "./types.js";
export { Outbox, type Given } from "./outbox.js";

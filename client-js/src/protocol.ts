import type { Delta } from "./delta.js";
import { LiveError } from "./types.js";

/** A failure as messages carry it. */
export interface WireError {
  type: string;
  message: string;
  status: number;
}

/** What the server says about one subscription. */
export type SubscriptionMessage =
  | { type: "result"; id?: number; tag: string; freshness: WireFreshness; value: unknown }
  | { type: "delta"; id?: number; tag: string; freshness: WireFreshness; from: string; delta: Delta }
  | { type: "error"; id?: number; tag: string; freshness: WireFreshness; error: WireError }
  | { type: "unchanged"; id?: number; tag: string; freshness: WireFreshness }
  | { type: "freshness"; id?: number; tag: string; freshness: WireFreshness }
  | { type: "end"; id?: number; error: WireError };

/** Asks for deltas, where a server that knows of none does not look. */
export const WITH_DELTAS = "live?deltas=1";

export type WireFreshness = "current" | "in-doubt";

/** What the server says. */
export type ServerMessage =
  | { type: "hello"; protocol: number; heartbeat: number; maxSubscriptions?: number; maxMessageBytes?: number; rate?: number }
  | { type: "heartbeat" }
  | { type: "bye"; reason: string; retryAfter: number }
  | SubscriptionMessage;

export function toError(error: WireError): LiveError {
  return new LiveError(error.type, error.message, error.status);
}

/** Whether asking again later may help. */
export function isPassing(error: WireError): boolean {
  return error.status === 429 || error.status >= 500;
}

/** Types of refusals that are made before anything is done. */
const NOTHING_DONE: readonly string[] = ["too-many-requests", "too-many-connections", "too-many-from-address"];

/** Whether the server says that it has done nothing of what was asked, but may later. */
export function isUndone({ type, status }: WireError): boolean {
  return status === 503 && NOTHING_DONE.includes(type);
}

/** Whether it was not the server that answered, but a proxy before it that did not reach it, or lost it. */
export function isOfProxy({ type, status }: WireError): boolean {
  return type === NO_PROBLEM && status >= 502 && status <= 504;
}

/** How long an answer says to wait, in milliseconds. */
export function pauseOf(response: Response): number {
  const seconds = Number(response.headers.get("Retry-After") ?? 0);
  return seconds > 0 && seconds <= MOST_PAUSE ? seconds * 1_000 : 0;
}

/** In seconds; what is longer, or a date, is not meant for streams. */
const MOST_PAUSE = 300;

/** The type of an answer that does not say one. */
const NO_PROBLEM = "http";

/** Reads an answer that is an error, as `application/problem+json` or as anything else. */
export async function problemOf(response: Response): Promise<WireError> {
  const body: unknown = await response.json().catch(() => undefined);
  const problem = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  return {
    type: typeof problem["type"] === "string" ? problem["type"] : NO_PROBLEM,
    message:
      typeof problem["detail"] === "string" ? problem["detail"] : `The server answered ${response.status}.`,
    status: response.status,
  };
}

/** JSON with sorted names: equal for equal parameters. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(
          Object.entries(part)
            .filter(([, v]) => v !== undefined)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : part,
  );
}

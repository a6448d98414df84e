import { createClient, LiveError } from "@evergreen/client";

export type { Chirp, Marked, Person } from "./types";

/** The most characters of a post, counted in code points as the server does. */
export const LONGEST_POST = 280;

/** The most characters of a name. */
export const LONGEST_NAME = 30;

/** What can be the name of somebody. */
export const NAME = /^[a-z0-9_]{1,30}$/;

/** How long to wait for an answer, in milliseconds, before people are told that there is none. */
export const ANSWER_WITHIN = 10_000;

/**
 * The connection of this page. People look at it and wait, so it is tried again more often than by default. All of Chirper's
 * commands may be given again.
 */
export const client = createClient({ reconnectMax: 4_000, commandWithin: ANSWER_WITHIN, repeatCommands: true });

/** A sentence about a failure. */
export function explain(failure: unknown): string {
  return failure instanceof LiveError && failure.status < 500 && failure.status >= 400
    ? failure.message
    : "The server does not answer.";
}

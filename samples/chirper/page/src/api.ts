import { type CommandName, type CommandOf, createClient, LiveError } from "@evergreen/client";

/** A post. Author and time together identify it. */
export interface Chirp {
  author: string;
  /** ISO 8601. */
  at: string;
  text: string;
}

/** Somebody's counts. Not `known`: nobody ever signed in by that name. */
export interface Person {
  known: boolean;
  profile: { posts: number; follows: number; followers: number };
}

/** A name in a list, and whether the one who looks follows it. */
export interface Marked {
  name: string;
  followed: boolean;
}

interface Listed {
  name: string;
  count: number;
}

declare module "@evergreen/client" {
  interface Views {
    timeline: { params: { count: number }; result: Chirp[] };
    profile: { params: { name: string }; result: Person };
    posts: { params: Listed; result: Chirp[] };
    following: { params: { name: string }; result: boolean };
    follows: { params: Listed; result: Marked[] };
    followers: { params: Listed; result: Marked[] };
    people: { params: { prefix: string; count: number }; result: Marked[] };
  }
  interface Commands {
    "sign-in": { command: { name: string }; result: { name: string } };
    post: { command: { at: string; text: string }; result: void };
    unpost: { command: { at: string }; result: void };
    follow: { command: { name: string }; result: void };
    unfollow: { command: { name: string }; result: void };
  }
}

/** The most characters of a post, counted in code points as the server does. */
export const LONGEST_POST = 280;

/** The most characters of a name. */
export const LONGEST_NAME = 30;

/** What can be the name of somebody. */
export const NAME = /^[a-z0-9_]{1,30}$/;

/** How long to wait for an answer, in milliseconds, before people are told that there is none. */
export const ANSWER_WITHIN = 10_000;

/** The connection of this page. People look at it and wait, so it is tried again more often than by default. */
export const client = createClient({ reconnectMax: 4_000, commandWithin: ANSWER_WITHIN });

/** Gives a command, again if the client has turned to another server: all of Chirper's may be given again. */
export async function command<C extends CommandName>(name: C, what: CommandOf<C>) {
  const given = client.url;
  return client.command(name, what).catch((failure: unknown) => {
    if (client.url === given) throw failure;
    return client.command(name, what);
  });
}

/** A sentence about a failure. */
export function explain(failure: unknown): string {
  return failure instanceof LiveError && failure.status < 500 && failure.status >= 400
    ? failure.message
    : "The server does not answer.";
}

import { LiveError } from "@evergreen/client";
import { useEffect, useSyncExternalStore } from "react";
import { type Chirp, command, explain } from "./api";
import { nextTime } from "./clock";
import { askServer } from "./session";

/** A post that the timeline has not shown yet. */
export interface Outgoing {
  readonly chirp: Chirp;
  /** Why it could not be sent, as a sentence. */
  readonly problem?: string;
  /** Whether the server has taken it. */
  readonly taken?: true;
}

/** What somebody wrote that is not posted yet. */
interface Desk {
  readonly draft: string;
  readonly posts: readonly Outgoing[];
}

const CLEAR: Desk = { draft: "", posts: [] };

/** By author. It lives as long as the page is not loaded anew, so that going elsewhere in it loses nothing. */
const desks = new Map<string, Desk>();
const listeners = new Set<() => void>();

function deskOf(author: string): Desk {
  return desks.get(author) ?? CLEAR;
}

function change(author: string, next: Partial<Desk>): void {
  desks.set(author, { ...deskOf(author), ...next });
  listeners.forEach((changed) => changed());
}

function keep(author: string, which: (post: Outgoing) => boolean): void {
  const { posts } = deskOf(author);
  const kept = posts.filter(which);
  if (kept.length < posts.length) change(author, { posts: kept });
}

function replace(at: string, post: Outgoing): void {
  const { author } = post.chirp;
  change(author, { posts: deskOf(author).posts.map((other) => (other.chirp.at === at ? post : other)) });
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => {
    listeners.delete(changed);
    if (listeners.size === 0) desks.forEach((_, author) => forgetTaken(author));
  };
}

/** Posts that were taken while no timeline is on display need not be waited for: the next one begins with them. */
function forgetTaken(author: string): void {
  keep(author, (post) => post.taken === undefined);
}

function useDesk(author: string): Desk {
  return useSyncExternalStore(subscribe, () => deskOf(author));
}

/** What `author` is writing, and how to change it. */
export function useDraft(author: string): [string, (text: string) => void] {
  return [useDesk(author).draft, (draft) => change(author, { draft })];
}

/**
 * The posts of `author` that are on their way, newest first. One leaves when the live timeline has it, not when the
 * command is answered, so that it is never seen twice or not at all.
 */
export function useOutgoing(author: string, arrived: Chirp[]): readonly Outgoing[] {
  const { posts } = useDesk(author);
  const times = new Set(arrived.filter((c) => c.author === author).map((c) => Date.parse(c.at)));
  const waiting = (post: Outgoing) => !times.has(Date.parse(post.chirp.at));
  useEffect(() => keep(author, waiting));
  return posts.filter(waiting);
}

/** Posts `text` as `author`. */
export function send(author: string, text: string): void {
  const chirp = { author, at: nextTime(), text };
  change(author, { posts: [{ chirp }, ...deskOf(author).posts] });
  void deliver(chirp);
}

/** Sends it again; the same post, because it keeps its time. */
export function sendAgain({ chirp }: Outgoing): void {
  void deliver(chirp);
}

/** Gives it up. */
export function discard({ chirp }: Outgoing): void {
  keep(chirp.author, (other) => other.chirp.at !== chirp.at);
}

async function deliver(chirp: Chirp, clockIsRight = false): Promise<void> {
  replace(chirp.at, { chirp });
  try {
    await command("post", { at: chirp.at, text: chirp.text });
  } catch (e) {
    const wrongTime = e instanceof LiveError && e.type === "wrong-time";
    if (!clockIsRight && wrongTime && (await setClock(chirp.author))) {
      const dated = { ...chirp, at: nextTime() };
      replace(chirp.at, { chirp: dated });
      return deliver(dated, true);
    }
    replace(chirp.at, { chirp, problem: explain(e) });
    return;
  }
  replace(chirp.at, { chirp, taken: true });
  if (listeners.size === 0) forgetTaken(chirp.author);
}

/** Sets the clock by the server's; false when it does not answer, or somebody else is signed in by now. */
function setClock(author: string): Promise<boolean> {
  return askServer().then(
    (name) => name === author,
    () => false,
  );
}

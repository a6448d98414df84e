import { type Given, LiveError, Outbox } from "@evergreen/client";
import { useEffect, useSyncExternalStore } from "react";
import { type Chirp, client } from "./api";
import { nextTime } from "./clock";
import { askServer } from "./session";

/** A post as it is sent: its time is chosen once, so that sending it again is the same post. */
export interface NewPost {
  readonly at: string;
  readonly text: string;
}

/** What somebody wrote that is not posted yet. */
class Desk {
  draft = "";
  readonly listeners = new Set<() => void>();
  readonly outbox: Outbox<NewPost>;

  constructor(author: string) {
    this.outbox = new Outbox<NewPost>(
      (post, instead) => deliver(author, post, instead),
      ({ at }) => at,
    );
  }

  readonly subscribe = (changed: () => void) => {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  };

  readonly write = (draft: string) => {
    this.draft = draft;
    this.listeners.forEach((changed) => changed());
  };
}

/** By author. It lives as long as the page is not loaded anew, so that going elsewhere in it loses nothing. */
const desks = new Map<string, Desk>();

function deskOf(author: string): Desk {
  const desk = desks.get(author) ?? new Desk(author);
  desks.set(author, desk);
  return desk;
}

/** What `author` is writing, and how to change it. */
export function useDraft(author: string): [string, (text: string) => void] {
  const desk = deskOf(author);
  return [useSyncExternalStore(desk.subscribe, () => desk.draft), desk.write];
}

/** The posts of `author` that the live timeline does not show yet, newest first. */
export function useOutgoing(author: string, arrived: readonly Chirp[]): readonly Given<NewPost>[] {
  const { outbox } = deskOf(author);
  const given = useSyncExternalStore(outbox.subscribe, outbox.entries);
  const times = new Set(arrived.filter((c) => c.author === author).map((c) => Date.parse(c.at)));
  const shown = (post: NewPost) => times.has(Date.parse(post.at));
  useEffect(() => outbox.settle(shown));
  return given.filter(({ command }) => !shown(command));
}

/** Posts `text` as `author`. */
export function send(author: string, text: string): void {
  void deskOf(author).outbox.send({ at: nextTime(), text });
}

/** Sends it again; the same post, because it keeps its time. */
export function sendAgain(author: string, post: NewPost): void {
  void deskOf(author).outbox.send(post);
}

/** Gives it up. */
export function discard(author: string, post: NewPost): void {
  deskOf(author).outbox.discard(post);
}

/** Sends it; with a better time if the server says that this page's clock is wrong. */
async function deliver(author: string, post: NewPost, instead: (post: NewPost) => void): Promise<void> {
  try {
    await client.command("post", { ...post });
  } catch (e) {
    const wrongTime = e instanceof LiveError && e.type === "wrong-time";
    if (!wrongTime || !(await setClock(author))) throw e;
    const dated = { ...post, at: nextTime() };
    instead(dated);
    await client.command("post", dated);
  }
}

/** Sets the clock by the server's; false when it does not answer, or somebody else is signed in by now. */
function setClock(author: string): Promise<boolean> {
  return askServer().then(
    (name) => name === author,
    () => false,
  );
}

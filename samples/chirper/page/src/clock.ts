import { useSyncExternalStore } from "react";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TICK = MINUTE / 4;

let ahead = 0;
let last = 0;

/** Sets the clock by the server's. */
export function synchronise(serverTime: string): void {
  ahead = Date.parse(serverTime) - Date.now();
  // What a wrong clock gave before must not keep the right one from being used.
  last = Math.min(last, now());
}

/** What time it is at the server, in milliseconds. */
export function now(): number {
  return Date.now() + ahead;
}

/** A time for a new post, later than those of all posts before. */
export function nextTime(): string {
  last = Math.max(now(), last + 1);
  return new Date(last).toISOString();
}

/** About what time it is; the component is drawn anew a few times a minute. */
export function usePresent(): number {
  return useSyncExternalStore(everyTick, () => Math.ceil(now() / TICK) * TICK);
}

function everyTick(changed: () => void): () => void {
  const timer = setInterval(changed, TICK);
  return () => clearInterval(timer);
}

/** How long ago, in as few characters as possible; a date when it is more than a week. */
export function ago(time: number, present: number): string {
  const passed = present - time;
  if (passed < MINUTE) return "now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h`;
  if (passed < 7 * DAY) return `${Math.floor(passed / DAY)} d`;
  const sameYear = new Date(time).getFullYear() === new Date(present).getFullYear();
  return new Intl.DateTimeFormat("en", {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  }).format(time);
}

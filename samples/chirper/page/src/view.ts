import type { Freshness, ParamsOf, ResultOf, Snapshot, ViewName } from "@evergreen/client";
import { useLive } from "@evergreen/client/react";
import { useEffect, useId, useRef, useSyncExternalStore } from "react";
import { client } from "./api";

const RANK: Record<Freshness, number> = { live: 0, "in-doubt": 1, offline: 2 };

/** So long without a connection, in milliseconds, and the page says so: less is nothing that people need to know. */
const GRACE = 1_000;

const watched = new Map<string, Freshness>();

/** Those of them that show what they had before they were offline. */
const outdated = new Set<string>();
const listeners = new Set<() => void>();

/** What to say of views that have been offline for a while; undefined when there is nothing to say. */
let outage: "offline" | "in-doubt" | undefined;
let grace: ReturnType<typeof setInterval> | undefined;

function tell(): void {
  listeners.forEach((changed) => changed());
}

function report(id: string, freshness: Freshness | undefined, shows = false): void {
  if (freshness === undefined) watched.delete(id);
  else watched.set(id, freshness);
  if (freshness === "offline" && shows) outdated.add(id);
  else outdated.delete(id);
  tell();
  // A change of page is many reports at once; only what they come to counts.
  queueMicrotask(watchForOutage);
}

/**
 * While something is offline, looks again and again whether the connection is to blame. Otherwise it was just asked
 * for, or asked again of another server, which takes its time when others have to recover first.
 */
function watchForOutage(): void {
  if (worst() === "offline") {
    grace ??= setInterval(() => {
      outage = client.state !== "open" ? "offline" : outdated.size > 0 ? "in-doubt" : undefined;
      tell();
    }, GRACE);
  } else {
    forgetOutage();
  }
}

function forgetOutage(): void {
  clearInterval(grace);
  grace = undefined;
  if (outage !== undefined) {
    outage = undefined;
    tell();
  }
}

/** Connects anew as somebody else. That is no outage, unless it takes as long as one. */
export function startAnew(): void {
  forgetOutage();
  client.reconnect();
  watchForOutage();
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

function worst(): Freshness | undefined {
  let found: Freshness | undefined;
  for (const freshness of watched.values()) {
    if (found === undefined || RANK[freshness] > RANK[found]) found = freshness;
  }
  return found;
}

function told(): Freshness | undefined {
  const freshness = worst();
  return freshness === "offline" ? outage : freshness;
}

/** The least fresh of all that the page shows; undefined when it shows nothing live, or may soon be live. */
export function useFreshness(): Freshness | undefined {
  return useSyncExternalStore(subscribe, told);
}

/**
 * A live view that counts for {@link useFreshness}. While other parameters of the same `subject` load, as after
 * "Show more", the value of the former ones stays.
 */
export function useView<V extends ViewName>(
  view: V,
  params: ParamsOf<V> | null,
  subject = "",
): Snapshot<ResultOf<V>> {
  const snapshot = useLive(view, params, client);
  const id = useId();
  const freshness = params === null ? undefined : freshnessOf(snapshot);
  const kept = useRef<{ subject: string; value: ResultOf<V> | undefined }>({ subject, value: undefined });
  if (kept.current.subject !== subject) kept.current = { subject, value: undefined };
  if (snapshot.value !== undefined) kept.current.value = snapshot.value;
  const shows = kept.current.value !== undefined;
  useEffect(() => {
    report(id, freshness, shows);
    return () => report(id, undefined);
  }, [id, freshness, shows]);
  return snapshot.loading && kept.current.value !== undefined
    ? { ...snapshot, value: kept.current.value, loading: false }
    : snapshot;
}

function freshnessOf(snapshot: Snapshot<unknown>): Freshness | undefined {
  if (snapshot.freshness === "offline") return "offline";
  if (snapshot.loading) return undefined;
  return snapshot.error === undefined ? snapshot.freshness : "in-doubt";
}

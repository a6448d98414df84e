import { useSyncExternalStore } from "react";

const OFF = "chirper-single-keys-off";
const listeners = new Set<() => void>();

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  addEventListener("storage", changed);
  return () => {
    listeners.delete(changed);
    removeEventListener("storage", changed);
  };
}

function areOn(): boolean {
  return localStorage.getItem(OFF) === null;
}

function set(on: boolean): void {
  if (on) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "yes");
  listeners.forEach((changed) => changed());
}

/** Whether single keys do something, in this browser, and how to change that. */
export function useSingleKeys(): [boolean, (on: boolean) => void] {
  return [useSyncExternalStore(subscribe, areOn), set];
}

import { type AnchorHTMLAttributes, type MouseEvent, useMemo, useSyncExternalStore } from "react";
import { NAME } from "./api";

/** Where the page is. */
export type Route =
  | { page: "home" }
  | { page: "search"; query: string }
  | { page: "person"; name: string; tab: PersonTab }
  | { page: "nowhere" };

export type PersonTab = "posts" | "follows" | "followers";

/** What an address means. */
export function route(path: string, search: string): Route {
  if (path === "/") return { page: "home" };
  if (path === "/search") return { page: "search", query: new URLSearchParams(search).get("q") ?? "" };
  const [, name, tab = "posts"] = /^\/@([^/]*)(?:\/(follows|followers))?\/?$/.exec(path.toLowerCase()) ?? [];
  return name !== undefined && NAME.test(name)
    ? { page: "person", name, tab: tab as PersonTab }
    : { page: "nowhere" };
}

/** The address of a person's page. */
export function personPath(name: string, tab: PersonTab = "posts"): string {
  return tab === "posts" ? `/@${name}` : `/@${name}/${tab}`;
}

const listeners = new Set<() => void>();

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  addEventListener("popstate", changed);
  return () => {
    listeners.delete(changed);
    removeEventListener("popstate", changed);
  };
}

/** Goes to another address of this page. */
export function go(path: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(null, "", path);
  } else {
    history.pushState(null, "", path);
    scrollTo(0, 0);
  }
  listeners.forEach((changed) => changed());
}

/** Where the page is, now and whenever that changes. */
export function useRoute(): Route {
  const address = useSyncExternalStore(subscribe, () => location.pathname + location.search);
  return useMemo(() => {
    const { pathname, search } = new URL(address, location.origin);
    return route(pathname, search);
  }, [address]);
}

/** A link to another address of this page. */
export function Link({ href, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const click = (event: MouseEvent) => {
    const elsewhere = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (!elsewhere && !event.defaultPrevented) {
      event.preventDefault();
      go(href);
    }
  };
  return <a href={href} onClick={click} {...rest} />;
}

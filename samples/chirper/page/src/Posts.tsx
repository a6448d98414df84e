import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Chirp } from "./api";
import { type Further, More } from "./More";
import { Post } from "./Post";
import { useSession } from "./session";

/** A list of posts, newest first, that tells when new ones come in. */
export function Posts(props: { chirps: readonly Chirp[]; pages: Further }) {
  const { name } = useSession();
  const { fresh, said } = useArrivals(props.chirps);
  const list = useFocusKept(props.chirps);
  return (
    <>
      <p className="unseen" aria-live="polite">
        {said}
      </p>
      <ToTop chirps={props.chirps} />
      <ol className="posts" ref={list}>
        {props.chirps.map((chirp) => (
          <li key={keyOf(chirp)} tabIndex={-1} className={fresh.has(keyOf(chirp)) ? "fresh" : undefined}>
            <Post chirp={chirp} own={chirp.author === name} />
          </li>
        ))}
      </ol>
      <More pages={props.pages} list={list} count={props.chirps.length}>
        Show older posts
      </More>
    </>
  );
}

/** When the post that has the focus goes, the one that takes its place gets it, or the heading: not the whole page. */
function useFocusKept(chirps: readonly Chirp[]) {
  const list = useRef<HTMLOListElement>(null);
  const focused = useRef(-1);
  useLayoutEffect(() => {
    const items = [...(list.current?.children ?? [])] as HTMLElement[];
    if (focused.current >= 0) focusIfLost(items[Math.min(focused.current, items.length - 1)]);
    const look = () => {
      focused.current = items.findIndex((item) => item.contains(document.activeElement));
    };
    look();
    document.addEventListener("focusin", look);
    return () => document.removeEventListener("focusin", look);
  }, [chirps]);
  useEffect(
    () => () => {
      if (focused.current >= 0) queueMicrotask(() => focusIfLost(undefined)); // with the last post the list goes
    },
    [],
  );
  return list;
}

function focusIfLost(element: HTMLElement | undefined): void {
  if (document.activeElement !== document.body) return;
  (element ?? document.querySelector<HTMLElement>("h1"))?.focus({ preventScroll: true });
}

/** What identifies a post, also when it moves to another page. */
export function keyOf(chirp: Chirp): string {
  return `${chirp.author} ${chirp.at}`;
}

function timeOf(chirp: Chirp | undefined): number {
  return chirp === undefined ? 0 : Date.parse(chirp.at);
}

/** Which posts came in since the list was first shown, and a sentence about the last of them. */
function useArrivals(chirps: readonly Chirp[]): { fresh: Set<string>; said: string } {
  const { name } = useSession();
  const newest = useRef(timeOf(chirps[0]));
  const known = useRef(new Set(chirps.map(keyOf)));
  const [arrivals, setArrivals] = useState({ fresh: new Set<string>(), said: "" });
  useEffect(() => {
    // Older posts that come in are those of somebody just followed, or more of the same list.
    const fresh = chirps.filter((c) => timeOf(c) > newest.current && !known.current.has(keyOf(c)));
    known.current = new Set(chirps.map(keyOf));
    if (fresh.length === 0) return;
    newest.current = timeOf(fresh[0]);
    const others = [...new Set(fresh.map((c) => c.author).filter((author) => author !== name))];
    setArrivals((before) => ({
      fresh: new Set([...before.fresh, ...fresh.map(keyOf)]),
      said: others.length === 0 ? before.said : `New from ${others.join(", ")}`,
    }));
  }, [chirps, name]);
  return arrivals;
}

/** A button to the top when posts came in above what one reads. */
function ToTop({ chirps }: { chirps: readonly Chirp[] }) {
  const seen = useRef(timeOf(chirps[0]));
  const [away, setAway] = useState(false);
  useEffect(() => {
    const moved = () => setAway(scrollY > 400);
    moved();
    addEventListener("scroll", moved, { passive: true });
    return () => removeEventListener("scroll", moved);
  }, []);
  if (!away) seen.current = timeOf(chirps[0]);
  const above = away ? chirps.filter((chirp) => timeOf(chirp) > seen.current).length : 0;
  if (above === 0) return null;
  return (
    <button type="button" className="to-top" onClick={() => scrollTo({ top: 0, behavior: "smooth" })}>
      ↑ {above === 1 ? "1 new post" : `${above} new posts`}
    </button>
  );
}

import { useEffect, useRef } from "react";
import { Home } from "./Home";
import { PersonPage } from "./PersonPage";
import { SearchPage } from "./SearchPage";
import { SignIn } from "./SignIn";
import { Frame } from "./Frame";
import { Guard, Notice } from "./Notice";
import { go, Link, type Route, useRoute } from "./router";
import { SessionProvider, useSession } from "./session";
import { useSingleKeys } from "./singleKeys";

/** The whole page. */
export function App() {
  return (
    <Guard>
      <SessionProvider waiting={(failed) => <Waiting failed={failed} />}>
        <Pages />
      </SessionProvider>
    </Guard>
  );
}

function Waiting({ failed }: { failed: boolean }) {
  return (
    <div className="waiting">
      <img src="/chirper.svg" alt="" width="56" height="56" />
      {failed ? (
        <Notice kind="error" title="The server does not answer.">
          This page asks again every few seconds.
        </Notice>
      ) : (
        <p role="status">Chirper is loading…</p>
      )}
    </div>
  );
}

function Pages() {
  const route = useRoute();
  const { name } = useSession();
  useShortcuts();
  useHeadingFocus(route, name);
  if (name === undefined && route.page === "home") return <SignIn />;
  return (
    <Frame route={route}>
      <Page route={route} />
    </Frame>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "home":
      return <Home />;
    case "search":
      return <SearchPage query={route.query} />;
    case "person":
      return <PersonPage key={route.name} name={route.name} tab={route.tab} />;
    case "nowhere":
      return (
        <>
          <h1 tabIndex={-1}>Nothing here</h1>
          <Notice kind="empty" title="There is no such page.">
            <Link href="/">Go home</Link> or <Link href="/search">look for somebody</Link>.
          </Notice>
        </>
      );
  }
}

/**
 * After a change of page, tells screen readers where they are and lets Tab start there; also when somebody has signed in or out,
 * unless a field already took the focus.
 */
function useHeadingFocus(route: Route, me = ""): void {
  const place = route.page === "person" ? `${route.page} ${route.name}` : route.page;
  const before = useRef({ place, me });
  useEffect(() => {
    const moved = before.current.place !== place;
    const lost = before.current.me !== me && document.activeElement === document.body;
    before.current = { place, me };
    if (moved || lost) document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  }, [place, me]);
}

/** `/` goes to the search, `n` to the new post, unless that is switched off: a voice that is taken for keys would set them off. */
function useShortcuts(): void {
  const [on] = useSingleKeys();
  useEffect(() => {
    if (!on) return;
    const pressed = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
      if (typing !== null || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") {
        event.preventDefault();
        goAndFocus("/search", "search-people");
      }
      if (event.key === "n") {
        event.preventDefault();
        goAndFocus("/", "new-post");
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [on]);
}

function goAndFocus(path: string, field: string): void {
  if (location.pathname !== path) go(path);
  requestAnimationFrame(() => document.getElementById(field)?.focus());
}

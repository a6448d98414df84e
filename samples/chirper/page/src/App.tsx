import { useEffect, useRef } from "react";
import { Home } from "./Home";
import { PersonPage } from "./PersonPage";
import { SearchPage } from "./SearchPage";
import { SignIn } from "./SignIn";
import { Frame } from "./Frame";
import { Guard, Notice } from "./Notice";
import { go, Link, type Route, useRoute } from "./router";
import { SessionProvider, useSession } from "./session";

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
  useHeadingFocus(route);
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

/** After a change of page, tells screen readers where they are and lets Tab start there. */
function useHeadingFocus(route: Route): void {
  const place = route.page === "person" ? `${route.page} ${route.name}` : route.page;
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  }, [place]);
}

/** `/` goes to the search, `n` to the new post. */
function useShortcuts(): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).closest("input, textarea, select, [contenteditable]");
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
  }, []);
}

function goAndFocus(path: string, field: string): void {
  if (location.pathname !== path) go(path);
  requestAnimationFrame(() => document.getElementById(field)?.focus());
}

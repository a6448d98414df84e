import { useAction } from "@evergreen/client/react";
import type { ReactNode } from "react";
import { Avatar } from "./Avatar";
import { LiveBadge, OfflineBanner } from "./LiveBadge";
import { Link, personPath, type Route } from "./router";
import { useSession } from "./session";
import { useSingleKeys } from "./singleKeys";
import { Home, Person, Search } from "./icons";

/** What is around every page: the name, the ways to go, and whether the page is live. */
export function Frame({ route, children }: { route: Route; children: ReactNode }) {
  const { name } = useSession();
  const own = route.page === "person" && route.name === name;
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header>
        <Link href="/" className="brand" aria-label="Chirper, home">
          <img src="/chirper.svg" alt="" width="34" height="34" />
          <span>Chirper</span>
        </Link>
        <LiveBadge />
        <nav aria-label="Main">
          <NavLink href="/" current={route.page === "home"} icon={<Home />}>
            Home
          </NavLink>
          <NavLink href="/search" current={route.page === "search"} icon={<Search />}>
            Search
          </NavLink>
          {name !== undefined && (
            <NavLink href={personPath(name)} current={own} icon={<Person />}>
              Your page
            </NavLink>
          )}
        </nav>
        {name === undefined ? (
          <Link href="/" className="button primary account">
            Sign in
          </Link>
        ) : (
          <Account name={name} />
        )}
      </header>
      <main id="main" tabIndex={-1}>
        <OfflineBanner />
        {children}
      </main>
      <aside aria-label="About this page">
        <About />
      </aside>
    </div>
  );
}

function NavLink(props: { href: string; current: boolean; icon: ReactNode; children: ReactNode }) {
  return (
    <Link href={props.href} aria-current={props.current ? "page" : undefined}>
      {props.icon}
      <span>{props.children}</span>
    </Link>
  );
}

function Account({ name }: { name: string }) {
  return (
    <div className="account">
      <Avatar name={name} size="small" />
      <span className="who" title={`@${name}`}>
        @{name}
      </span>
      <SignOut />
    </div>
  );
}

/** Signs out. */
export function SignOut() {
  const { signOut } = useSession();
  const leaving = useAction(signOut);
  return (
    <button type="button" className="quiet" aria-disabled={leaving.busy} onClick={() => void leaving.run()}>
      {leaving.error === undefined ? "Sign out" : "Try again to sign out"}
    </button>
  );
}

function About() {
  const { name } = useSession();
  const [singleKeys, setSingleKeys] = useSingleKeys();
  return (
    <>
      <section>
        <h2>Why nothing here is stale</h2>
        <p>
          Every list on this page is a computation over the people it shows. The server keeps it true: a post, a
          removal or a new follower changes what you see at once, without a reload.
        </p>
      </section>
      <section>
        <h2>By keyboard</h2>
        <dl className="keys">
          {name !== undefined && (
            <>
              <dt>
                <kbd>n</kbd>
              </dt>
              <dd>write a post</dd>
              <dt>
                <kbd>Ctrl</kbd> <kbd>Enter</kbd>
              </dt>
              <dd>send it</dd>
            </>
          )}
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>look for people</dd>
        </dl>
        <label className="choice">
          <input type="checkbox" checked={singleKeys} onChange={(event) => setSingleKeys(event.target.checked)} />
          Single keys
        </label>
      </section>
    </>
  );
}

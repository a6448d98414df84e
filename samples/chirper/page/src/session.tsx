import { EvergreenProvider } from "@evergreen/client/react";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { ANSWER_WITHIN, client } from "./api";
import { synchronise } from "./clock";

/** Who the page belongs to. */
export interface Session {
  /** The name of who is signed in; undefined for nobody. */
  readonly name: string | undefined;
  /** Signs in; fails with a message for people. */
  signIn(name: string): Promise<void>;
  /** Signs out. */
  signOut(): Promise<void>;
}

const Context = createContext<Session | undefined>(undefined);
const RETRY_AFTER = 3_000;

/** The session of this page. */
export function useSession(): Session {
  const session = useContext(Context);
  if (session === undefined) throw new Error("useSession is for components inside SessionProvider");
  return session;
}

/** The tabs of a browser share the cookie, and so who is signed in; each tells the others when it changed that. */
const tabs = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("chirper-session");

/** Asks the server who is signed in, again and again until it answers, and tells the components inside. */
export function SessionProvider({ waiting, children }: { waiting: (failed: boolean) => ReactNode; children: ReactNode }) {
  const [name, setName] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  const known = useRef<string | null>(null);

  /** Counts what was asked and changed. What was asked before that of the last answer counts for nothing. */
  const turn = useRef(0);
  const answered = useRef(0);

  const enter = useCallback((next: string, mine = ++turn.current) => {
    answered.current = mine;
    // What is shown now is for somebody else.
    if (known.current !== null && known.current !== next) client.reconnect();
    known.current = next;
    setName(next);
  }, []);
  const ask = useCallback(async () => {
    const mine = ++turn.current;
    const next = await askServer();
    if (mine > answered.current) enter(next, mine);
  }, [enter]);

  useEffect(() => {
    if (name !== null) return;
    let over = false;
    let timer: ReturnType<typeof setTimeout>;
    const keepAsking = () =>
      ask().catch(() => {
        if (over) return;
        setFailed(true);
        timer = setTimeout(() => void keepAsking(), RETRY_AFTER);
      });
    void keepAsking();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [name, ask]);

  useEffect(() => {
    // Without an answer the page stays as it is, and says that it is not live.
    const again = () => void ask().catch(() => undefined);
    const seen = () => {
      if (!document.hidden) again();
    };
    tabs?.addEventListener("message", again);
    document.addEventListener("visibilitychange", seen);
    return () => {
      tabs?.removeEventListener("message", again);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [ask]);

  const session = useMemo<Session>(
    () => ({
      name: name === null || name === "" ? undefined : name,
      async signIn(typed) {
        const answer = await client.command("sign-in", { name: typed });
        enter(answer.name);
        tabs?.postMessage("changed");
      },
      async signOut() {
        const answer = await request("sign-out", "POST");
        if (!answer.ok) throw new Error(`sign-out was answered ${answer.status}`);
        enter("");
        tabs?.postMessage("changed");
      },
    }),
    [name, enter],
  );
  if (name === null) return waiting(failed);
  return (
    <EvergreenProvider client={client}>
      <Context value={session}>{children}</Context>
    </EvergreenProvider>
  );
}

/** Who is signed in. Sets the clock by the way. */
export async function askServer(): Promise<string> {
  const answer = await request("session");
  if (!answer.ok) throw new Error(`the session was answered ${answer.status}`);
  const session = (await answer.json()) as { name: string; now: string; ports: number[] };
  synchronise(session.now);
  client.alsoAt(...session.ports.map(samePageAt));
  return session.name;
}

/** Asks the server that the page is connected to, which need not be the one that it was loaded from. */
function request(path: string, method = "GET"): Promise<Response> {
  const signal = AbortSignal.timeout(ANSWER_WITHIN);
  return fetch(new URL(path, client.url), { method, credentials: "include", signal });
}

function samePageAt(port: number): URL {
  const url = new URL("/", location.href);
  url.port = String(port);
  return url;
}

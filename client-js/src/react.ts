import {
  createContext,
  createElement,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { defaultClient } from "./client.js";
import { contentOf, PageList, type Page, type Pages } from "./pages.js";
import { stableJson } from "./protocol.js";
import { SKIPPED } from "./shared.js";
import type {
  Client,
  CommandName,
  CommandOf,
  CommandOptions,
  Connection,
  ParamsOf,
  ResultOf,
  Snapshot,
  ViewName,
} from "./types.js";

export type { Page, Pages } from "./pages.js";

const Provided = createContext<Client | undefined>(undefined);

/** Gives the components inside a client; without it they use that of the page's origin. */
export function EvergreenProvider(props: { client: Client; children?: ReactNode }): ReactNode {
  return createElement(Provided.Provider, { value: props.client }, props.children);
}

/** The client of the provider, or that of the page's origin. */
export function useClient(): Client {
  return useContext(Provided) ?? defaultClient();
}

/** Options of `useLive`. */
export interface UseLiveOptions {
  /** While other parameters load, the value of the former ones stays, marked as `previous`; not after a change of the caller. */
  keepPrevious?: boolean;
  /** Suspends until the first result, and throws an error that comes instead of it. */
  suspense?: boolean;
}

/**
 * Watches a view while the component is mounted. Parameters are compared by their JSON, so that a fresh object
 * of the same content is no change; when they change, the snapshot starts anew as `loading`.
 *
 * ```tsx
 * const timeline = useLive("timeline", { user: "alice" });
 * if (timeline.status === "value") return <List chirps={timeline.value} />;
 * ```
 *
 * @param params the view's parameters; null watches nothing: the snapshot is `skipped`
 */
export function useLive<V extends ViewName>(
  view: V,
  params: ParamsOf<V> | null,
  options: UseLiveOptions = {},
): Snapshot<ResultOf<V>> {
  const client = useClient();
  const key = params === null ? null : stableJson(params);
  const watched = useMemo(
    // The key stands for the parameters: equal content is no change.
    () => (key === null ? undefined : client.live(view, JSON.parse(key) as ParamsOf<V>)),
    [client, view, key],
  );
  const subscribe = useCallback(
    (changed: () => void) => (watched === undefined ? () => undefined : watched.subscribe(changed)),
    [watched],
  );
  const present = (): Snapshot<ResultOf<V>> => watched?.snapshot() ?? SKIPPED;
  const snapshot = useSyncExternalStore<Snapshot<ResultOf<V>>>(subscribe, present, present);
  const shown = usePrevious(snapshot, client.era, options.keepPrevious === true && watched !== undefined);
  if (options.suspense === true && watched !== undefined) {
    if (shown.loading) {
      throw watched.arrived();
    }
    if (shown.status === "failed" && shown.value === undefined) {
      throw shown.error;
    }
  }
  return shown;
}

/** The snapshot, with the value of the last one while this one loads. */
function usePrevious<R>(snapshot: Snapshot<R>, era: number, keep: boolean): Snapshot<R> {
  const last = useRef<{ era: number; value: R } | undefined>(undefined);
  useEffect(() => {
    if (snapshot.value !== undefined) {
      last.current = { era, value: snapshot.value };
    }
  });
  const kept = last.current?.era === era ? last.current.value : undefined;
  return useMemo(
    () =>
      keep && snapshot.status === "loading" && kept !== undefined
        ? { ...snapshot, status: "value", value: kept, loading: false, previous: true }
        : snapshot,
    [keep, snapshot, kept],
  );
}

/** What the pages of a view hold. */
export type ItemOf<V extends ViewName> = ResultOf<V> extends Page<infer T> ? T : unknown;

/**
 * Watches a view page by page. Its result is a `Page`: items, and the cursor of the next page; its parameters have a field for
 * the cursor, which the first page is asked for without.
 *
 * @param cursor the name of that field
 * @param idOf what stays the same of an item when it moves to another page, so that it is not shown twice on its way;
 *     undefined where items are never the same. By default records of the same content are the same
 * @param until the name of a field for the cursor of the item that a page is to end with, if the view has one. The first page is
 *     asked for so when there are others: what comes in changes that page only, and the others need not be asked for anew
 * @returns all pages so far as one, and `more`, which asks for a further one
 */
export function useLivePages<V extends ViewName>(
  view: V,
  params: ParamsOf<V>,
  cursor: keyof ParamsOf<V> & string,
  idOf: (item: ItemOf<V>) => unknown = contentOf,
  until?: keyof ParamsOf<V> & string,
): Pages<ItemOf<V>> & { more(): void } {
  const client = useClient();
  const key = stableJson(params);
  const identify = useRef(idOf);
  useEffect(() => {
    identify.current = idOf;
  });
  const list = useMemo(
    () =>
      new PageList(
        client,
        view,
        JSON.parse(key) as Readonly<Record<string, unknown>>,
        cursor,
        (item) => identify.current(item as ItemOf<V>),
        until,
      ),
    [client, view, key, cursor, until],
  );
  const pages = useSyncExternalStore(list.subscribe, list.snapshot, list.snapshot) as Pages<ItemOf<V>>;
  return useMemo(() => ({ ...pages, more: list.more }), [pages, list]);
}

/** Something that a person asked for. */
export interface Action<A extends unknown[]> {
  /** Whether the answer is still awaited. */
  readonly busy: boolean;
  /** What it failed with last; undefined while it is busy and after a success. */
  readonly error: unknown;
  /** Starts it, unless it is busy; true when it succeeded. It does not throw. */
  run(...args: A): Promise<boolean>;
}

/** Keeps track of whether an action is under way and how it ended. */
export function useAction<A extends unknown[]>(action: (...args: A) => Promise<unknown>): Action<A> {
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: undefined });
  const latest = useRef(action);
  const busy = useRef(false);
  useEffect(() => {
    latest.current = action;
  });
  const run = useCallback(async (...args: A): Promise<boolean> => {
    if (busy.current) {
      return false;
    }
    busy.current = true;
    setState({ busy: true, error: undefined });
    let error: unknown;
    try {
      await latest.current(...args);
    } catch (failure) {
      error = failure;
    }
    busy.current = false;
    setState({ busy: false, error });
    return error === undefined;
  }, []);
  return useMemo(() => ({ ...state, run }), [state, run]);
}

/**
 * A command to be given at a press of a button.
 *
 * ```tsx
 * const follow = useCommand("follow", {
 *   optimistic: { following: (followed, { name }, params) => followed || params.name === name },
 * });
 * <button disabled={follow.busy} onClick={() => void follow.run({ name: "bob" })}>Follow</button>
 * ```
 */
export function useCommand<C extends CommandName>(name: C, options?: CommandOptions<C>): Action<[CommandOf<C>]> {
  const client = useClient();
  return useAction((command: CommandOf<C>) => client.command(name, command, options));
}

/** How the connection is, and how fresh all that is watched through it. */
export function useConnection(): Connection {
  const client = useClient();
  return useSyncExternalStore(client.onChange, client.connection, client.connection);
}

import { useCallback, useMemo, useSyncExternalStore } from "react";
import { defaultClient } from "./client.js";
import { stableJson } from "./protocol.js";
import { INITIAL } from "./shared.js";
import type { Client, ParamsOf, ResultOf, Snapshot, ViewName } from "./types.js";

/**
 * Watches a view while the component is mounted. Parameters are compared by their JSON, so that a fresh object
 * of the same content is no change; when they change, the snapshot starts anew with `loading`.
 *
 * ```tsx
 * const { value, error, loading, freshness } = useLive("timeline", { user: "alice" });
 * ```
 *
 * @param params the view's parameters; null watches nothing and stays `loading`
 * @param client the page's own client by default
 */
export function useLive<V extends ViewName>(
  view: V,
  params: ParamsOf<V> | null,
  client?: Client,
): Snapshot<ResultOf<V>> {
  const key = params === null ? null : stableJson(params);
  const watched = useMemo(
    // The key stands for the parameters: equal content is no change.
    () => (key === null ? null : (client ?? defaultClient()).live(view, JSON.parse(key) as ParamsOf<V>)),
    [client, view, key],
  );
  const subscribe = useCallback(
    (changed: () => void) => (watched === null ? () => undefined : watched.subscribe(changed)),
    [watched],
  );
  return useSyncExternalStore<Snapshot<ResultOf<V>>>(
    subscribe,
    () => watched?.snapshot() ?? INITIAL,
    () => INITIAL,
  );
}

import { stableJson } from "./protocol.js";
import { tell } from "./shared.js";
import type { Client, Live, LiveError, Freshness, ParamsOf, Snapshot, ViewName } from "./types.js";

/** What a view gives that is read page by page: items, and where the next page begins. */
export interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; null or missing on the last. */
  readonly next?: string | null;
}

/** All pages that are watched, as one. */
export interface Pages<T> {
  readonly items: readonly T[];
  /** Whether some page that was asked for has not arrived. */
  readonly loading: boolean;
  readonly error: LiveError | undefined;
  /** That of the least fresh page. */
  readonly freshness: Freshness;
  /** Whether there is a further page. */
  readonly hasMore: boolean;
}

const RANK: readonly Freshness[] = ["live", "in-doubt", "offline"];

const NOTHING: Pages<unknown> = { items: [], loading: true, error: undefined, freshness: "offline", hasMore: false };

interface Watched {
  readonly live: Live<Page<unknown>>;
  readonly key: string;
  readonly stop: () => void;
}

/**
 * The first pages of a view, each watched by itself. Each begins where the one before it ends: when that changes, the page behind
 * it is asked for anew. Until it has arrived, what was shown there stays.
 */
export class PageList {
  private wanted = 1;
  private pages: Watched[] = [];
  private listeners = new Set<() => void>();
  private known = NOTHING;

  constructor(
    private readonly client: Client,
    private readonly view: string,
    private readonly params: Readonly<Record<string, unknown>>,
    private readonly cursor: string,
    private readonly idOf: (item: unknown) => unknown = contentOf,
  ) {
    this.known = this.sum([this.at(undefined).snapshot()]);
  }

  readonly snapshot = (): Pages<unknown> => this.known;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    this.follow();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) {
        this.pages.splice(0).forEach(({ stop }) => stop());
      }
    };
  };

  /** Asks for a further page, unless one is on its way. */
  readonly more = (): void => {
    if (this.known.hasMore && !this.known.loading) {
      this.wanted = this.pages.length + 1;
      this.follow();
    }
  };

  private at(cursor: string | undefined): Live<Page<unknown>> {
    const params = cursor === undefined ? this.params : { ...this.params, [this.cursor]: cursor };
    return this.client.live(this.view as ViewName, params as ParamsOf<ViewName>) as unknown as Live<Page<unknown>>;
  }

  /** Sees to it that the pages are watched that there are now, as far as they are wanted. */
  private follow(): void {
    const snapshots: Snapshot<Page<unknown>>[] = [];
    let cursor: string | undefined;
    for (let i = 0; i < this.wanted && this.listeners.size > 0; i++) {
      const page = this.watch(i, cursor);
      const snapshot = page.live.snapshot();
      snapshots.push(snapshot);
      const next = snapshot.value?.next ?? undefined;
      if (next === undefined) {
        if (snapshot.value !== undefined) {
          this.pages.splice(i + 1).forEach(({ stop }) => stop());
        }
        break;
      }
      cursor = next;
    }
    const sum = this.sum(snapshots);
    if (stableJson(sum) !== stableJson(this.known)) {
      this.known = sum;
      [...this.listeners].forEach((changed) => tell(changed));
    }
  }

  private watch(i: number, cursor: string | undefined): Watched {
    const key = cursor ?? "";
    const before = this.pages[i];
    if (before?.key === key) {
      return before;
    }
    const live = this.at(cursor);
    const page = { live, key, stop: live.subscribe(() => this.follow()) };
    this.pages[i] = page;
    before?.stop();
    return page;
  }

  private sum(pages: readonly Snapshot<Page<unknown>>[]): Pages<unknown> {
    const last = pages.at(-1);
    const arrived = pages.map(({ value }) => value?.items ?? []);
    const awaited = last?.value === undefined && last?.error === undefined;
    return {
      items: this.once(awaited ? [...arrived, this.behind(arrived.flat())] : arrived),
      loading: pages.some(({ loading }) => loading),
      error: pages.find(({ error }) => error !== undefined)?.error,
      freshness: RANK[Math.max(0, ...pages.map(({ freshness }) => RANK.indexOf(freshness)))] ?? "offline",
      hasMore: (last?.value?.next ?? undefined) !== undefined,
    };
  }

  /** What is shown behind the last of these items. It stays until the page is there that begins elsewhere by now. */
  private behind(items: readonly unknown[]): readonly unknown[] {
    const ids = new Set<unknown>(items.map(this.idOf).filter((id) => id !== undefined));
    const shown = this.known.items;
    const end = shown.map((item) => ids.has(this.idOf(item))).lastIndexOf(true);
    return end < 0 ? [] : shown.slice(end + 1);
  }

  /** All items; one that has moved to another page, of which not both have said so yet, where it comes first. */
  private once(pages: readonly (readonly unknown[])[]): unknown[] {
    const earlier = new Set<unknown>();
    return pages.flatMap((items) => {
      const ids = items.map(this.idOf);
      const shown = items.filter((_, i) => ids[i] === undefined || !earlier.has(ids[i]));
      ids.forEach((id) => earlier.add(id));
      return shown;
    });
  }
}

/** By which items are the same unless the application says so: records by their content, and nothing else. */
export function contentOf(item: unknown): unknown {
  return typeof item === "object" && item !== null ? stableJson(item) : undefined;
}

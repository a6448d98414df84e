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
  /** Where it begins; empty for the first. */
  readonly cursor: string;
  /** What the page before ends with: the item that the cursor names. */
  readonly after: unknown;
  /** Where it ends, if that was asked for. */
  readonly until: string | undefined;
  /** Of the page in whose place it has come, for whom that was. */
  readonly former: { readonly page: Page<unknown>; readonly era: number } | undefined;
  readonly stop: () => void;
}

/** What is shown of a page. */
interface Part {
  readonly page: Page<unknown> | undefined;
  readonly snapshot: Snapshot<Page<unknown>>;
}

/**
 * The first pages of a view, each watched by itself. Each begins where the one before it ends: when that changes, the page behind
 * it is asked for anew, and then the one behind that. Until it has arrived, what was shown there stays. So where a page ends is to
 * change seldom: the first, to which what is new comes, is asked for up to where the second begins, if the view can be asked that;
 * and a page that has more at its end than it had ends where it did, as long as the page behind shows that.
 */
export class PageList {
  private wanted = 1;
  /** How many there were when all of them had come. */
  private had = 1;
  /** Whether a further page was asked for and has not come. */
  private further = false;
  private pages: Watched[] = [];
  private listeners = new Set<() => void>();
  private known = NOTHING;

  constructor(
    private readonly client: Client,
    private readonly view: string,
    private readonly params: Readonly<Record<string, unknown>>,
    private readonly cursor: string,
    private readonly idOf: (item: unknown) => unknown = contentOf,
    private readonly until?: string,
  ) {
    this.known = this.sum([partOf(this.at("", undefined).snapshot())]);
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

  /** Asks for a further page, unless one is on its way. It comes when those before it are there. */
  readonly more = (): void => {
    if (!this.further && (this.known.hasMore || this.known.loading)) {
      this.further = true;
      this.wanted = this.had + 1;
      this.follow();
    }
  };

  private at(cursor: string, until: string | undefined): Live<Page<unknown>> {
    const params = { ...this.params };
    if (cursor !== "") {
      params[this.cursor] = cursor;
    }
    if (until !== undefined && this.until !== undefined) {
      params[this.until] = until;
    }
    return this.client.live(this.view as ViewName, params as ParamsOf<ViewName>) as unknown as Live<Page<unknown>>;
  }

  /** Sees to it that the pages are watched that there are now, as far as they are wanted. */
  private follow(): void {
    const parts: Part[] = [];
    let cursor = "";
    let after: unknown;
    for (let i = 0; i < this.wanted && this.listeners.size > 0; i++) {
      const watched = this.watch(i, cursor, after);
      const snapshot = watched.live.snapshot();
      const former = snapshot.ended ? undefined : this.formerOf(watched);
      const page = this.upTo(this.pages[i + 1], snapshot.value ?? former);
      parts.push({ page, snapshot });
      const next = page?.next ?? undefined;
      if (page === undefined || next === undefined) {
        if (page !== undefined) {
          this.pages.splice(i + 1).forEach(({ stop }) => stop());
        }
        break;
      }
      if (i === 0 && this.until !== undefined && this.wanted > 1 && watched.until !== next) {
        this.put(0, "", undefined, next, page);
      }
      cursor = next;
      after = page.items.length === 0 ? undefined : this.idOf(page.items.at(-1));
    }
    if (parts.at(-1)?.page !== undefined) {
      this.had = parts.length;
    }
    const sum = this.sum(parts);
    this.further &&= isAwaited(parts.at(-1));
    if (stableJson(sum) !== stableJson(this.known)) {
      this.known = sum;
      [...this.listeners].forEach((changed) => tell(changed));
    }
  }

  private watch(i: number, cursor: string, after: unknown): Watched {
    const before = this.pages[i];
    return before?.cursor === cursor ? before : this.put(i, cursor, after);
  }

  private put(i: number, cursor: string, after: unknown, until?: string, page?: Page<unknown>): Watched {
    const live = this.at(cursor, until);
    const former = page === undefined ? undefined : { page, era: this.client.era };
    const before = this.pages[i];
    const watched = { live, cursor, after, until, former, stop: live.subscribe(() => this.follow()) };
    this.pages[i] = watched;
    before?.stop();
    return watched;
  }

  /** What was in its place, unless that was somebody else's. */
  private formerOf({ former }: Watched): Page<unknown> | undefined {
    return former?.era === this.client.era ? former.page : undefined;
  }

  /**
   * A page up to where the one behind it goes on beginning; as it is unless all beyond is shown there. A page that has nothing beyond,
   * but says that the next one begins elsewhere, knows better.
   */
  private upTo(behind: Watched | undefined, page: Page<unknown> | undefined): Page<unknown> | undefined {
    if (behind?.after === undefined || page === undefined || page.next === behind.cursor) {
      return page;
    }
    const ids = page.items.map(this.idOf);
    const end = ids.lastIndexOf(behind.after) + 1;
    const shown = new Set(behind.live.snapshot().value?.items.map(this.idOf));
    const goesFurther = end < ids.length || (page.next ?? undefined) === undefined;
    const stays = end > 0 && goesFurther && ids.slice(end).every((id) => id !== undefined && shown.has(id));
    return stays ? { items: page.items.slice(0, end), next: behind.cursor } : page;
  }

  private sum(parts: readonly Part[]): Pages<unknown> {
    const last = parts.at(-1);
    const arrived = parts.map(({ page }) => page?.items ?? []);
    const snapshots = parts.map(({ snapshot }) => snapshot);
    // What was refused for now is asked for again; what is refused for good is not to be seen any more.
    const isToCome = last?.page === undefined && last?.snapshot.ended !== true;
    return {
      items: this.once(isToCome ? [...arrived, this.behind(arrived.flat())] : arrived),
      loading: snapshots.some(({ loading }) => loading),
      error: snapshots.find(({ error }) => error !== undefined)?.error,
      freshness: RANK[Math.max(0, ...snapshots.map(({ freshness }) => RANK.indexOf(freshness)))] ?? "offline",
      hasMore: (last?.page?.next ?? undefined) !== undefined,
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

function partOf(snapshot: Snapshot<Page<unknown>>): Part {
  return { page: snapshot.value, snapshot };
}

function isAwaited(part: Part | undefined): boolean {
  return part?.page === undefined && part?.snapshot.error === undefined;
}

/** By which items are the same unless the application says so: records by their content, and nothing else. */
export function contentOf(item: unknown): unknown {
  return typeof item === "object" && item !== null ? stableJson(item) : undefined;
}

import type { Pages } from "@evergreen/client/react";
import { type ReactNode, type RefObject, useLayoutEffect, useRef } from "react";

/** What a list that is read page by page has beyond what it shows. */
export type Further = Pick<Pages<unknown>, "hasMore" | "loading"> & { more(): void };

/**
 * A button for the next page of a list. Who pressed it has the focus on the first item that came, also where it was the last
 * page and the button is gone.
 *
 * @param count how many items the list shows
 */
export function More(props: {
  pages: Further;
  list: RefObject<HTMLElement | null>;
  count: number;
  children: ReactNode;
}) {
  const { hasMore, loading, more } = props.pages;
  const lastBefore = useRef<Element | null>(null);
  useLayoutEffect(() => {
    if (loading || lastBefore.current === null) return;
    const first = lastBefore.current.nextElementSibling;
    lastBefore.current = null; // Also where nothing came: what comes later was not asked for.
    if (first !== null) (first as HTMLElement).focus({ preventScroll: true });
  }, [loading, props.count]);
  if (!hasMore && !loading) return null;
  const press = () => {
    lastBefore.current = props.list.current?.lastElementChild ?? null;
    more();
  };
  return (
    <button type="button" className="button more" aria-busy={loading} onClick={press}>
      {props.children}
    </button>
  );
}

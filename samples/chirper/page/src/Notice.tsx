import type { LiveError, Snapshot } from "@evergreen/client";
import type { Pages } from "@evergreen/client/react";
import { Component, type ErrorInfo, type ReactNode } from "react";
import { explain } from "./api";

/** A page, or a part of one, that has nothing else to show. */
export function Notice(props: { kind: "empty" | "error"; title: string; children?: ReactNode }) {
  return (
    <div className={`notice ${props.kind}`} role={props.kind === "error" ? "alert" : undefined}>
      <p className="title">{props.title}</p>
      {props.children !== undefined && <p>{props.children}</p>}
    </div>
  );
}

/** Shows the value of a live view, or why there is none yet. */
export function Shown<R>({ of, children }: { of: Snapshot<R>; children: (value: R) => ReactNode }) {
  if (of.value !== undefined && !of.ended) return children(of.value);
  return of.error !== undefined || (of.freshness === "offline" && !of.loading) ? (
    <Missing error={of.error} ended={of.ended} />
  ) : (
    <Skeleton />
  );
}

/** Why there is nothing to show. */
function Missing({ error, ended }: { error: LiveError | undefined; ended: boolean }) {
  return error === undefined ? (
    <Notice kind="error" title="The server does not answer.">
      This page keeps trying.
    </Notice>
  ) : (
    <Notice kind="error" title={explain(error)}>
      {ended ? "Load the page anew." : "The server keeps trying."}
    </Notice>
  );
}

/** Shows the items of the pages of a live view, or why there are none yet. */
export function ShownPages<T>({ of, children }: { of: Pages<T>; children: (items: readonly T[]) => ReactNode }) {
  const known = of.items.length > 0 || (!of.loading && of.freshness !== "offline" && of.error === undefined);
  if (known) return children(of.items);
  return of.error !== undefined || (of.freshness === "offline" && !of.loading) ? (
    <Missing error={of.error} ended={false} />
  ) : (
    <Skeleton />
  );
}

/** Stands where a list will be. */
function Skeleton() {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      <div />
      <div />
      <div />
    </div>
  );
}

/** Shows a sentence instead of a blank page when the page itself is broken. */
export class Guard extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override componentDidCatch(error: Error, info: ErrorInfo) {
    console.error(error, info.componentStack);
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <div className="waiting">
        <Notice kind="error" title="This page has a fault of its own.">
          <button type="button" className="button primary" onClick={() => location.reload()}>
            Load it anew
          </button>
        </Notice>
      </div>
    );
  }
}

import { useEffect, useRef, useState } from "react";
import { explain } from "./api";

/** Something that a person asked the server for. */
export interface Action<A extends unknown[]> {
  /** Whether the answer is still awaited. */
  readonly busy: boolean;
  /** Why it failed last, as a sentence. */
  readonly failure: string | undefined;
  /** Starts it, unless it is busy; true when it succeeded. */
  run(...args: A): Promise<boolean>;
}

/** Keeps track of whether an action is under way and how it ended. */
export function useAction<A extends unknown[]>(action: (...args: A) => Promise<unknown>): Action<A> {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  const mounted = useRef(true);
  useEffect(() => {
    mounted.current = true;
    return () => {
      mounted.current = false;
    };
  }, []);

  const run = async (...args: A) => {
    if (busy) return false;
    setBusy(true);
    setFailure(undefined);
    try {
      await action(...args);
      return true;
    } catch (e) {
      if (mounted.current) setFailure(explain(e));
      return false;
    } finally {
      if (mounted.current) setBusy(false);
    }
  };
  return { busy, failure, run };
}

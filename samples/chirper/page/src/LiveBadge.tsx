import type { Freshness } from "@evergreen/client";
import { useClient, useConnection } from "@evergreen/client/react";

const WORDS: Record<Freshness, string> = { live: "Live", "in-doubt": "In doubt", offline: "Not live" };
const MEANING: Record<Freshness, string> = {
  live: "What you see is current.",
  "in-doubt": "Something this page is made of does not answer, or not yet; what you see may be outdated.",
  offline: "The connection to the server is lost; what you see may be outdated.",
};

/** Whether what the page shows is current. */
export function LiveBadge() {
  const { freshness } = useConnection();
  if (freshness === undefined) return <span className="live none" />;
  return (
    <span className={`live ${freshness}`} role="status" title={MEANING[freshness]}>
      <span className="dot" aria-hidden="true" />
      {WORDS[freshness]}
    </span>
  );
}

/** Says so, in the way, when the page is not live. */
export function OfflineBanner() {
  const client = useClient();
  const { freshness } = useConnection();
  if (freshness === undefined || freshness === "live") return null;
  return (
    <div className={`banner ${freshness}`} role="alert">
      {freshness === "offline" ? (
        <>
          <p>The server does not answer. What you see may be outdated; this page keeps trying.</p>
          <button type="button" className="button" onClick={() => client.retry()}>
            Try now
          </button>
        </>
      ) : (
        <p>Some of what is shown here does not answer. It may be outdated; the server keeps trying.</p>
      )}
    </div>
  );
}

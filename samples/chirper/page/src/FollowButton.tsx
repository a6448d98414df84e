import { useEffect, useState } from "react";
import { command } from "./api";
import { Link } from "./router";
import { useSession } from "./session";
import { useAction } from "./useAction";

/** Follows somebody, or no longer. It shows what was asked for until the live view says the same. */
export function FollowButton({ name, followed }: { name: string; followed: boolean }) {
  const session = useSession();
  const [wanted, setWanted] = useState(followed);
  const asking = useAction((want: boolean) => command(want ? "follow" : "unfollow", { name }));
  useEffect(() => setWanted(followed), [followed]);

  if (session.name === undefined) {
    return (
      <Link href="/" className="button">
        Sign in to follow
      </Link>
    );
  }
  const toggle = async () => {
    setWanted(!followed);
    if (!(await asking.run(!followed))) setWanted(followed);
  };
  return (
    <span className="follow">
      {asking.failure !== undefined && (
        <span className="problem" role="alert">
          {asking.failure}
        </span>
      )}
      <button
        type="button"
        className={wanted ? "button on" : "button primary"}
        aria-pressed={wanted}
        aria-label={`Follow ${name}`}
        aria-busy={asking.busy || wanted !== followed}
        disabled={asking.busy}
        onClick={() => void toggle()}
      >
        {wanted ? "Following" : "Follow"}
      </button>
    </span>
  );
}

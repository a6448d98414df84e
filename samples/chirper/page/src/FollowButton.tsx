import type { Effects } from "@evergreen/client";
import { useCommand } from "@evergreen/client/react";
import { explain } from "./api";
import { Link } from "./router";
import { useSession } from "./session";
import type { PageMarked } from "./types";

/** What is shown at once of following somebody, or no longer. */
function marked(followed: boolean): Effects<"follow" | "unfollow"> {
  const mark = (page: PageMarked, { name }: { name: string }): PageMarked => ({
    ...page,
    items: page.items.map((person) => (person.name === name ? { ...person, followed } : person)),
  });
  return {
    following: (was, command, of) => (of.name === command.name ? followed : was),
    follows: mark,
    followers: mark,
    people: mark,
  };
}

const FOLLOW = { optimistic: marked(true) };
const UNFOLLOW = { optimistic: marked(false) };

/** Follows somebody, or no longer. While it is busy it is not disabled, as that would take the focus from it. */
export function FollowButton({ name, followed }: { name: string; followed: boolean }) {
  const session = useSession();
  const follow = useCommand("follow", FOLLOW);
  const unfollow = useCommand("unfollow", UNFOLLOW);
  const asking = followed ? unfollow : follow;
  const busy = follow.busy || unfollow.busy;
  const failure = follow.error ?? unfollow.error;

  if (session.name === undefined) {
    return (
      <Link href="/" className="button">
        Sign in to follow
      </Link>
    );
  }
  return (
    <span className="follow">
      {failure !== undefined && (
        <span className="problem" role="alert">
          {explain(failure)}
        </span>
      )}
      <button
        type="button"
        className={followed ? "button on" : "button primary"}
        aria-pressed={followed}
        aria-label={`Follow ${name}`}
        aria-busy={busy}
        aria-disabled={busy}
        onClick={() => void (busy || asking.run({ name }))}
      >
        {followed ? "Following" : "Follow"}
      </button>
    </span>
  );
}

import { useCommand } from "@evergreen/client/react";
import { memo, type ReactNode, useEffect, useState } from "react";
import { type Chirp, explain } from "./api";
import { Avatar } from "./Avatar";
import { ago, usePresent } from "./clock";
import { Link, personPath } from "./router";

/** A post in a list. */
export const Post = memo(function Post({ chirp, own }: { chirp: Chirp; own: boolean }) {
  const removing = useCommand("unpost");
  const [gone, setGone] = useState(false);
  const remove = async () => setGone(await removing.run({ at: chirp.at }));
  return (
    <PostFrame
      chirp={chirp}
      state={removing.busy || gone ? "leaving" : "there"}
      actions={own && <Remove busy={removing.busy || gone} onRemove={() => void remove()} />}
    >
      {removing.error !== undefined && (
        <p className="problem" role="alert">
          {explain(removing.error)} This post may still be there.
        </p>
      )}
    </PostFrame>
  );
});

/** How a post looks. */
export function PostFrame(props: {
  chirp: Chirp;
  state: "there" | "leaving" | "sending" | "failed";
  actions?: ReactNode;
  children?: ReactNode;
}) {
  const { author, at, text } = props.chirp;
  const time = Date.parse(at);
  return (
    <article className={`post ${props.state}`} aria-busy={props.state === "sending" || props.state === "leaving"}>
      <Link href={personPath(author)} tabIndex={-1} aria-hidden="true">
        <Avatar name={author} />
      </Link>
      <div>
        <p className="by">
          <Link href={personPath(author)} className="author">
            @{author}
          </Link>
          <time dateTime={at} title={new Date(time).toLocaleString("en")}>
            {ago(time, usePresent())}
          </time>
          {props.actions}
        </p>
        <p className="text" dir="auto">{linked(text)}</p>
        {props.children}
      </div>
    </article>
  );
}

/** So long, in milliseconds, one who has pressed "Remove" may take to press again: people and machines may be slow. */
const SURE_WITHIN = 20_000;

/** Removing takes two presses, so that one is no accident. */
function Remove({ busy, onRemove }: { busy: boolean; onRemove: () => void }) {
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked) return;
    const timer = setTimeout(() => setAsked(false), SURE_WITHIN);
    return () => clearTimeout(timer);
  }, [asked]);
  return (
    <button
      type="button"
      className={asked ? "quiet danger" : "quiet"}
      aria-disabled={busy}
      onClick={busy ? undefined : asked ? onRemove : () => setAsked(true)}
    >
      {busy ? "Removing…" : asked ? "Really remove?" : "Remove"}
    </button>
  );
}

/** A text with its mentions of people as links. */
export function linked(text: string): ReactNode[] {
  return text.split(/(?<![A-Za-z0-9_])(@[A-Za-z0-9_]{1,30}\b)/).map((part, i) =>
    i % 2 === 1 ? (
      <Link key={i} href={personPath(part.slice(1).toLowerCase())}>
        {part}
      </Link>
    ) : (
      part
    ),
  );
}

import type { Given } from "@evergreen/client";
import { useLivePages } from "@evergreen/client/react";
import { useEffect } from "react";
import { explain } from "./api";
import { Composer } from "./Composer";
import { Notice, ShownPages } from "./Notice";
import { discard, type NewPost, send, sendAgain, useOutgoing } from "./outbox";
import { PostFrame } from "./Post";
import { keyOf, Posts } from "./Posts";
import { Link } from "./router";
import { useSession } from "./session";

/** The timeline of who is signed in. */
export function Home() {
  const { name = "" } = useSession();
  const timeline = useLivePages("timeline", {}, "behind", keyOf, "until");
  const outgoing = useOutgoing(name, timeline.items);
  useEffect(() => {
    document.title = "Home · Chirper";
  }, []);
  return (
    <>
      <h1 tabIndex={-1}>Home</h1>
      <Composer name={name} onPost={(text) => send(name, text)} />
      <ol className="posts">
        {outgoing.map((post) => (
          <li key={post.command.at}>
            <Unsent author={name} post={post} />
          </li>
        ))}
      </ol>
      <ShownPages of={timeline}>
        {(chirps) =>
          chirps.length > 0 ? (
            <Posts chirps={chirps} pages={timeline} />
          ) : (
            outgoing.length === 0 && <Welcome />
          )
        }
      </ShownPages>
    </>
  );
}

function Welcome() {
  return (
    <Notice kind="empty" title="It is quiet here.">
      Write your first post above, or <Link href="/search">look for people to follow</Link>.
    </Notice>
  );
}

function Unsent({ author, post }: { author: string; post: Given<NewPost> }) {
  const { command, state, error } = post;
  const chirp = { author, ...command };
  if (state !== "failed") {
    return <PostFrame chirp={chirp} state="sending" actions={<span className="note">sending…</span>} />;
  }
  return (
    <PostFrame chirp={chirp} state="failed">
      <p className="problem" role="alert">
        {explain(error)} This may not have been posted.
      </p>
      <p className="choices">
        <button type="button" className="button" onClick={() => sendAgain(author, command)}>
          Send again
        </button>
        <button type="button" className="button" onClick={() => discard(author, command)}>
          Discard
        </button>
      </p>
    </PostFrame>
  );
}

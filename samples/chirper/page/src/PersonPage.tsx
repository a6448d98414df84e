import { useLive, useLivePages } from "@evergreen/client/react";
import { useEffect } from "react";
import type { Person } from "./api";
import { Avatar } from "./Avatar";
import { FollowButton } from "./FollowButton";
import { SignOut } from "./Frame";
import { Notice, Shown, ShownPages } from "./Notice";
import { nameOf, People } from "./People";
import { keyOf, Posts } from "./Posts";
import { Link, personPath, type PersonTab } from "./router";
import { useSession } from "./session";

/** Somebody's page: who it is, what they wrote, whom they follow and who follows them. */
export function PersonPage({ name, tab }: { name: string; tab: PersonTab }) {
  const person = useLive("profile", { name });
  useEffect(() => {
    document.title = `@${name} · Chirper`;
  }, [name]);
  return (
    <>
      <div className="person">
        <Avatar name={name} size="large" />
        <h1 tabIndex={-1}>@{name}</h1>
        {person.value?.known === true && <Relation name={name} />}
      </div>
      <Shown of={person}>
        {(known) =>
          known.known ? (
            <>
              <Tabs name={name} tab={tab} person={known} />
              <Tab key={tab} name={name} tab={tab} />
            </>
          ) : (
            <Notice kind="empty" title={`There is nobody called “${name}”.`}>
              The page comes to life when somebody signs in by that name. Until then you can{" "}
              <Link href="/search">look for somebody else</Link>.
            </Notice>
          )
        }
      </Shown>
    </>
  );
}

/** What this person is to who looks. */
function Relation({ name }: { name: string }) {
  const { name: me } = useSession();
  const own = me === name;
  const following = useLive("following", me === undefined || own ? null : { name });
  if (own) return <SignOut />;
  if (me === undefined) return <FollowButton name={name} followed={false} />;
  return following.value === undefined ? null : <FollowButton name={name} followed={following.value} />;
}

function Tabs({ name, tab, person }: { name: string; tab: PersonTab; person: Person }) {
  const { posts, follows, followers } = person.profile;
  const entry = (to: PersonTab, count: number, one: string, many: string) => (
    <Link href={personPath(name, to)} aria-current={tab === to ? "page" : undefined}>
      <strong>{count.toLocaleString("en")}</strong> {count === 1 ? one : many}
    </Link>
  );
  return (
    <nav className="tabs" aria-label={`Of ${name}`}>
      {entry("posts", posts, "post", "posts")}
      {entry("follows", follows, "following", "following")}
      {entry("followers", followers, "follower", "followers")}
    </nav>
  );
}

function Tab({ name, tab }: { name: string; tab: PersonTab }) {
  return tab === "posts" ? <PostsOf name={name} /> : <PeopleOf name={name} side={tab} />;
}

function PostsOf({ name }: { name: string }) {
  const posts = useLivePages("posts", { name }, "behind", keyOf, "until");
  return (
    <ShownPages of={posts}>
      {(chirps) =>
        chirps.length > 0 ? (
          <Posts chirps={chirps} pages={posts} />
        ) : (
          <Notice kind="empty" title={`@${name} has not written anything.`} />
        )
      }
    </ShownPages>
  );
}

function PeopleOf({ name, side }: { name: string; side: "follows" | "followers" }) {
  const people = useLivePages(side, { name }, "behind", nameOf);
  const nobody = side === "follows" ? `@${name} follows nobody.` : `Nobody follows @${name}.`;
  return (
    <ShownPages of={people}>
      {(some) =>
        some.length > 0 ? <People people={some} pages={people} /> : <Notice kind="empty" title={nobody} />
      }
    </ShownPages>
  );
}

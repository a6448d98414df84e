import { useRef } from "react";
import type { Marked } from "./api";
import { Avatar } from "./Avatar";
import { FollowButton } from "./FollowButton";
import { type Further, More } from "./More";
import { Link, personPath } from "./router";
import { useSession } from "./session";

/** What identifies somebody in a list, whether followed or not. */
export function nameOf(person: Marked): string {
  return person.name;
}

/** A list of people with a button to follow each. */
export function People(props: { people: readonly Marked[]; pages: Further }) {
  const { name } = useSession();
  const list = useRef<HTMLUListElement>(null);
  return (
    <>
      <ul className="people" ref={list}>
        {props.people.map((person) => (
          <li key={person.name} tabIndex={-1}>
            <Avatar name={person.name} />
            <Link href={personPath(person.name)} className="author">
              @{person.name}
            </Link>
            {person.name === name ? (
              <span className="note">you</span>
            ) : (
              <FollowButton name={person.name} followed={person.followed} />
            )}
          </li>
        ))}
      </ul>
      <More pages={props.pages} list={list} count={props.people.length}>
        Show more people
      </More>
    </>
  );
}

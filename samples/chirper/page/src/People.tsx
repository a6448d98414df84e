import type { Marked } from "./api";
import { Avatar } from "./Avatar";
import { FollowButton } from "./FollowButton";
import { Link, personPath } from "./router";
import { useSession } from "./session";

/** How many people a list shows at first, and how many more each time. */
export const PEOPLE = 30;

/** A list of people with a button to follow each. */
export function People(props: { people: Marked[]; count: number; onMore: () => void }) {
  const { name } = useSession();
  return (
    <>
      <ul className="people">
        {props.people.map((person) => (
          <li key={person.name}>
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
      {props.people.length >= props.count && (
        <button type="button" className="button more" onClick={props.onMore}>
          Show more people
        </button>
      )}
    </>
  );
}

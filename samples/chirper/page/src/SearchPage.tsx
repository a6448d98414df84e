import { useLive } from "@evergreen/client/react";
import { useEffect, useState } from "react";
import { LONGEST_NAME, NAME } from "./api";
import { Notice, Shown } from "./Notice";
import { People, PEOPLE } from "./People";
import { go } from "./router";

const PAUSE = 120;

/** People by the beginning of their names. The address has what was typed, so that one can come back to it. */
export function SearchPage({ query }: { query: string }) {
  const prefix = useSettled(query.trim().replace(/^@/, "").toLowerCase());
  const type = (text: string) =>
    go(text === "" ? "/search" : `/search?q=${encodeURIComponent(text)}`, { replace: true });
  useEffect(() => {
    document.title = "Search · Chirper";
  }, []);
  return (
    <>
      <h1 tabIndex={-1}>People</h1>
      <form role="search" className="search" onSubmit={(event) => event.preventDefault()}>
        <label htmlFor="search-people">Names that begin with</label>
        <input
          id="search-people"
          type="search"
          value={query}
          onChange={(event) => type(event.target.value)}
          placeholder="anything"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={LONGEST_NAME + 1}
        />
      </form>
      {prefix === "" || NAME.test(prefix) ? (
        <Found key={prefix} prefix={prefix} />
      ) : (
        <Notice kind="empty" title={`No name begins with “${prefix}”.`}>
          Names are made of the letters a–z, digits and underscores.
        </Notice>
      )}
    </>
  );
}

/** The value after it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

function Found({ prefix }: { prefix: string }) {
  const [count, setCount] = useState(PEOPLE);
  const people = useLive("people", { prefix, count }, { keepPrevious: true });
  return (
    <Shown of={people}>
      {(some) =>
        some.length > 0 ? (
          <People people={some} count={count} onMore={() => setCount(count + PEOPLE)} />
        ) : (
          <Notice
            kind="empty"
            title={prefix === "" ? "There is nobody yet." : `No name begins with “${prefix}”.`}
          />
        )
      }
    </Shown>
  );
}

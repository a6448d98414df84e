import { useLivePages } from "@evergreen/client/react";
import { useEffect, useState } from "react";
import { LONGEST_NAME, NAME } from "./api";
import { Notice, ShownPages } from "./Notice";
import { nameOf, People } from "./People";
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
  const people = useLivePages("people", { prefix }, "behind", nameOf);
  return (
    <ShownPages of={people}>
      {(some) =>
        some.length > 0 ? (
          <People people={some} pages={people} />
        ) : (
          <Notice
            kind="empty"
            title={prefix === "" ? "There is nobody yet." : `No name begins with “${prefix}”.`}
          />
        )
      }
    </ShownPages>
  );
}

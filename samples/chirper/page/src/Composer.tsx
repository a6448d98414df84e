import { type FormEvent, type KeyboardEvent, useId } from "react";
import { LONGEST_POST } from "./api";
import { Avatar } from "./Avatar";
import { useDraft } from "./outbox";

/** Where one writes a post. */
export function Composer({ name, onPost }: { name: string; onPost: (text: string) => void }) {
  const [text, setText] = useDraft(name);
  const counter = useId();
  const stripped = text.trim();
  const left = LONGEST_POST - [...stripped].length;
  const ready = stripped !== "" && left >= 0;

  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!ready) return;
    onPost(stripped);
    setText("");
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  };

  return (
    <form className="composer" onSubmit={submit}>
      <Avatar name={name} />
      <div className="grow" data-text={text}>
        <label htmlFor="new-post" className="unseen">
          New post
        </label>
        <textarea
          id="new-post"
          dir="auto"
          rows={2}
          placeholder="What is new?"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={pressed}
          aria-describedby={counter}
          aria-invalid={left < 0}
        />
      </div>
      <p id={counter} className={`counter ${left < 0 ? "over" : left <= 20 ? "near" : ""}`}>
        {left < 0 ? `${-left} too many` : `${left} left`}
      </p>
      <button type="submit" className="button primary" disabled={!ready}>
        Post
      </button>
    </form>
  );
}

import { useAction } from "@evergreen/client/react";
import { type FormEvent, useState } from "react";
import { explain, LONGEST_NAME, NAME } from "./api";
import { Link } from "./router";
import { useSession } from "./session";

/** Signing in by a name. */
export function SignIn() {
  const { signIn } = useSession();
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState(false);
  const entering = useAction(signIn);
  const name = typed.trim().toLowerCase();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (NAME.test(name)) void entering.run(name);
    else setWrong(true);
  };
  const problem = wrong
    ? `A name has 1 to ${LONGEST_NAME} letters a–z, digits or underscores.`
    : entering.error === undefined
      ? undefined
      : explain(entering.error);

  return (
    <main className="sign-in">
      <img src="/chirper.svg" alt="" width="72" height="72" />
      <h1 tabIndex={-1}>Chirper</h1>
      <p>Say something short. See what those you follow say, while they say it.</p>
      <form onSubmit={submit} noValidate>
        <label htmlFor="name">Your name</label>
        <div className="field">
          <span aria-hidden="true">@</span>
          <input
            id="name"
            name="name"
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              setWrong(false);
            }}
            autoFocus
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            maxLength={LONGEST_NAME}
            aria-invalid={problem !== undefined}
            aria-describedby="name-hint name-problem"
          />
        </div>
        <p id="name-problem" className="problem" role="alert">
          {problem}
        </p>
        <button type="submit" className="button primary" aria-disabled={entering.busy}>
          {entering.busy ? "Signing in…" : "Sign in"}
        </button>
        <p id="name-hint" className="hint">
          This is a demonstration: there is no password, and whoever types your name is you.
        </p>
      </form>
      <p className="hint">
        Or <Link href="/search">look around</Link> first.
      </p>
    </main>
  );
}

import { useCommand, useConnection, useLive } from "@evergreen/client/react";

const FRUIT = ["apples", "pears"];

export function App() {
  const { freshness } = useConnection();
  return (
    <main>
      <h1>Fruit</h1>
      {FRUIT.map((name) => (
        <Count key={name} name={name} />
      ))}
      <p role="status">{freshness === undefined || freshness === "live" ? "" : "What you see may be outdated."}</p>
    </main>
  );
}

function Count({ name }: { name: string }) {
  const count = useLive("count", { name });
  const add = useCommand("add");
  return (
    <p>
      {count.value ?? "…"} {name}{" "}
      <button type="button" onClick={() => void add.run({ name, n: 1 })}>
        Add one of the {name}
      </button>
      {add.error !== undefined && <span role="alert"> That did not work; try again.</span>}
    </p>
  );
}

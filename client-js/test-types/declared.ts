// Compiled, not run: what an application sees once it has declared its views and commands.
import { createClient, live, type Snapshot } from "../src/index.js";
import { useLive } from "../src/react.js";

interface Chirp {
  text: string;
}

declare module "../src/index.js" {
  interface Views {
    timeline: { params: { user: string; limit?: number }; result: Chirp[] };
    everyone: { result: string[] };
  }
  interface Commands {
    post: { command: { text: string }; result: void };
    count: { command: { of: string }; result: { n: number } };
  }
}

export async function use(): Promise<void> {
  const client = createClient();
  for await (const chirps of live("timeline", { user: "alice" })) {
    const text: string | undefined = chirps[0]?.text;
    console.log(text);
  }
  client.live("everyone", {}).subscribe((snapshot) => {
    const names: string[] | undefined = snapshot.value;
    console.log(names);
  });
  const snapshot: Snapshot<Chirp[]> = useLive("timeline", { user: "alice", limit: 3 });
  const n: number = (await client.command("count", { of: "x" })).n;
  await client.command("post", { text: "hi" });
  console.log(snapshot, n);

  // @ts-expect-error: no such view
  client.live("timelines", {});
  // @ts-expect-error: a parameter is missing
  client.live("timeline", {});
  // @ts-expect-error: a parameter has another type
  client.live("timeline", { user: "alice", limit: "3" });
  // @ts-expect-error: this view has no parameters
  client.live("everyone", { user: "alice" });
  // @ts-expect-error: no such command
  await client.command("posts", { text: "hi" });
  // @ts-expect-error: a command's field has another type
  await client.command("post", { text: 1 });
}

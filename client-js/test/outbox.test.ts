import { describe, expect, it } from "vitest";
import { createClient, Outbox } from "../src/index.js";
import { TestServer } from "./server.js";

interface Post {
  at: number;
  text: string;
}

describe("an outbox", () => {
  it("keeps what is given until it is on display, given up, or taken while nobody looks", async () => {
    let fails = true;
    const box = new Outbox<Post>(
      async () => {
        if (fails) throw new Error("down");
      },
      ({ at }) => at,
    );
    const states = (): string[] => box.entries().map(({ command, state }) => `${command.text} ${state}`);
    const stop = box.subscribe(() => undefined);
    const sending = box.send({ at: 1, text: "one" });
    expect(states()).toEqual(["one sending"]);
    await sending;
    await box.send({ at: 2, text: "two" });
    expect(states()).toEqual(["two failed", "one failed"]);
    box.discard({ at: 2, text: "two" });
    fails = false;
    await box.send({ at: 1, text: "one" });
    expect(states()).toEqual(["one taken"]);
    box.settle(({ at }) => at === 1);
    expect(states()).toEqual([]);
    await box.send({ at: 3, text: "three" });
    expect(states()).toEqual(["three taken"]);
    stop();
    expect(states()).toEqual([]);
  });

  it("shows another command in the place of one that was changed, and nothing of one that was discarded", async () => {
    let change = (): void => undefined;
    let end = (): void => undefined;
    const box = new Outbox<Post>(
      (_post, instead) => {
        change = () => instead({ at: 9, text: "later" });
        return new Promise<void>((resolve) => (end = resolve));
      },
      ({ at }) => at,
    );
    box.subscribe(() => undefined);
    const sending = box.send({ at: 1, text: "one" });
    change();
    expect(box.entries()).toEqual([{ command: { at: 9, text: "later" }, state: "sending", error: undefined }]);
    box.discard({ at: 9, text: "later" });
    change();
    end();
    await sending;
    expect(box.entries()).toEqual([]);
  });
});

describe("a command without an answer", () => {
  it.each([true, false])("is given once more to the next server only if commands are repeatable: %s", async (repeatCommands) => {
    const gone = await TestServer.start();
    const other = await TestServer.start();
    let given = 0;
    other.onRequest = (request, response) => {
      given++;
      request.resume();
      response.writeHead(204).end();
    };
    await gone.stop();
    const client = createClient({ url: gone.url, repeatCommands, transport: "sse" });
    client.alsoAt(other.url);
    const answer = client.command("post", {}).then(
      () => "done",
      (failure: { type: string }) => failure.type,
    );
    expect(await answer).toBe(repeatCommands ? "done" : "no-answer");
    expect(given).toBe(repeatCommands ? 1 : 0);
    expect(client.url).toBe(other.url);
    client.close();
    await other.stop();
  });
});

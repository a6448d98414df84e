// Made from the server's views and commands. Do not edit.
import type {} from "@evergreen/client";

declare module "@evergreen/client" {
  interface Views {
    count: { params: { name: string }; result: number };
  }
  interface Commands {
    add: { command: { name: string; n: number }; result: void };
  }
}

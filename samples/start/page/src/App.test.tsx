import { render, screen } from "@testing-library/react";
import { createClient } from "@evergreen/client";
import { EvergreenProvider } from "@evergreen/client/react";
import { expect, test } from "vitest";
import { App } from "./App";

test("counts are shown as they came with the page", () => {
  const client = createClient({
    first: [{ view: "count", params: { name: "apples" }, tag: "1", value: 7 }],
  });
  render(
    <EvergreenProvider client={client}>
      <App />
    </EvergreenProvider>,
  );
  expect(screen.getByText(/7 apples/)).toBeTruthy();
  expect(screen.getByText(/… pears/)).toBeTruthy();
  client.close();
});

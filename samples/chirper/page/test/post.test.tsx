import { cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { ago } from "../src/clock";
import { Composer } from "../src/Composer";
import { PostFrame } from "../src/Post";
import { route } from "../src/router";

afterEach(cleanup);

const MINUTE = 60_000;
const NOW = Date.parse("2025-11-21T12:00:00Z");

test.each([
  [-5_000, "now"],
  [0, "now"],
  [59_000, "now"],
  [MINUTE, "1 min"],
  [59 * MINUTE, "59 min"],
  [60 * MINUTE, "1 h"],
  [23 * 60 * MINUTE, "23 h"],
  [24 * 60 * MINUTE, "1 d"],
  [6 * 24 * 60 * MINUTE, "6 d"],
  [8 * 24 * 60 * MINUTE, "Nov 13"],
  [400 * 24 * 60 * MINUTE, "Oct 17, 2024"],
])("%i ms ago is shown as %s", (passed, shown) => {
  expect(ago(NOW - passed, NOW)).toBe(shown);
});

test("addresses lead to pages", () => {
  expect(route("/", "")).toEqual({ page: "home" });
  expect(route("/search", "?q=al%20")).toEqual({ page: "search", query: "al " });
  expect(route("/@alice", "")).toEqual({ page: "person", name: "alice", tab: "posts" });
  expect(route("/@Alice/", "")).toEqual({ page: "person", name: "alice", tab: "posts" });
  expect(route("/@alice/followers", "")).toEqual({ page: "person", name: "alice", tab: "followers" });
  for (const wrong of ["/@", "/@a-b", "/@alice/enemies", "/elsewhere", `/@${"x".repeat(31)}`]) {
    expect(route(wrong, "")).toEqual({ page: "nowhere" });
  }
});

test("a mention is a link, and nothing of a text is taken for HTML", () => {
  const chirp = { author: "alice", at: "2025-11-21T11:00:00Z", text: "<b>Ask</b> @Bob_2, not me@here.org" };
  const { container } = render(<PostFrame chirp={chirp} state="there" />);
  expect(container.querySelector(".text")?.textContent).toBe(chirp.text);
  expect(container.querySelector("b")).toBeNull();
  expect(screen.getByRole("link", { name: "@Bob_2" }).getAttribute("href")).toBe("/@bob_2");
  expect(screen.queryByRole("link", { name: "@here" })).toBeNull();
});

test("a post says when it was written, for people and for programs", () => {
  const at = new Date(Date.now() - 5 * MINUTE).toISOString();
  render(<PostFrame chirp={{ author: "alice", at, text: "hello" }} state="there" />);
  const time = within(screen.getByRole("article")).getByText("5 min");
  expect(time.getAttribute("datetime")).toBe(at);
});

test("the composer counts what people see, and sends by keyboard", async () => {
  const user = userEvent.setup();
  const onPost = vi.fn();
  render(<Composer name="alice" onPost={onPost} />);
  const field = screen.getByRole("textbox", { name: "New post" });
  await user.type(field, "  two 🐦🐦 ");
  expect(screen.getByText("274 left")).toBeTruthy();
  await user.keyboard("{Control>}{Enter}{/Control}");
  expect(onPost).toHaveBeenCalledExactlyOnceWith("two 🐦🐦");
  expect((field as HTMLTextAreaElement).value).toBe("");
});

test("the composer sends neither nothing nor too much", async () => {
  const user = userEvent.setup();
  const onPost = vi.fn();
  render(<Composer name="bob" onPost={onPost} />);
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Post" });
  const field = screen.getByRole("textbox", { name: "New post" });
  expect(button.disabled).toBe(true);
  await user.type(field, "   ");
  expect(button.disabled).toBe(true);
  await user.click(field);
  await user.paste("x".repeat(281));
  expect(button.disabled).toBe(true);
  expect(screen.getByText("1 too many")).toBeTruthy();
  await user.keyboard("{Control>}{Enter}{/Control}");
  expect(onPost).not.toHaveBeenCalled();
});

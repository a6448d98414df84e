/* Looks at a trace: keys, their histories, why an answer is as it is, and what passes now. What clients sent is never taken
   for markup: every text of theirs is set as text. */

import { byId, cell, list, make, say, state } from "./page.js";

const LIVE_ROWS = 100;
const RETRY_MILLIS = 2000;
const LANE_WIDTH = 9;
const MOST_LANES = 6;
const TOKEN = "evergreen.trace.token";

const MEANINGS = {
  certain: "This follows from what is on record.",
  "one-of": "The order of some operations is not known: one of these is why.",
  "before-recording": "It depends on what was there before the record begins.",
  outside: "Something that did not pass the recorder may have written here.",
  opaque: "A program ran in the store, and what it did is not known.",
  gap: "Operations are missing from the record: there may be other causes.",
  "no-specification": "What this command depends on is not specified.",
};

const EFFECTS = {
  replaced: "replaced it",
  changed: "changed it",
  none: "no effect",
  unknown: "effect not known",
};

let token = "";
let paused = false;
let tailing = null;
const known = { space: "" };

/** What was asked at a place is of no use at the next one, and must not be shown there when it comes late. */
let here = new AbortController();
let searching = new AbortController();

// Asking

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function call(path, parameters, signal) {
  const query = new URLSearchParams(parameters);
  const answer = await fetch(`api/${path}?${query}`, {
    headers: { Authorization: `Bearer ${token}` },
    signal,
  });
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, said.error ?? `The server answers ${answer.status}.`);
  }
  return answer;
}

const ask = async (path, parameters, signal = here.signal) => (await call(path, parameters, signal)).json();

/** Runs what a person has asked for, and tells what is wrong if it fails. */
async function attempt(action) {
  byId("problem").hidden = true;
  try {
    await action();
  } catch (problem) {
    if (problem.name === "AbortError") {
      return;
    }
    if (problem instanceof Refused && problem.status === 401) {
      lock();
      return;
    }
    byId("problem").hidden = false;
    say(byId("problem"), problem instanceof Refused ? problem.message : "The server does not answer.");
  }
}

// Texts

const time = (moment) => (moment ? `${moment.slice(0, 10)} ${moment.slice(11, 26)}`.replace("Z", "") : "");

/** A word as it is typed: in quotes if it would be several. Unprintable characters show as such. */
function word(text) {
  const visible = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (sign) => {
    const code = sign.codePointAt(0).toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
  });
  return visible === "" || /[\s"']/.test(visible) ? `"${visible.replace(/"/g, '\\"')}"` : visible;
}

const command = (operation) => operation.command.map(word).join(" ");

function reply(operation) {
  if (operation.unknown) {
    return "(no reply known)";
  }
  return value(operation.reply);
}

const told = (answer) => (answer.known ? value(answer.reply) : "(not known)");

function value(told) {
  if (told === null || told === undefined) {
    return "(nil)";
  }
  return typeof told === "string" ? word(told) : JSON.stringify(told).replace(/[\p{Cf}]/gu, "?");
}

function button(text, action, label) {
  const made = make("button", "small", text);
  made.type = "button";
  if (label) {
    made.setAttribute("aria-label", label);
  }
  made.addEventListener("click", () => attempt(action));
  return made;
}

// Keys

async function search(after) {
  searching.abort();
  searching = new AbortController();
  const prefix = byId("prefix").value;
  const answer = await ask("keys", { space: known.space, prefix, after: after ?? "" }, searching.signal);
  const items = answer.keys.map((key) => {
    const item = make("li");
    item.dataset.id = key.id;
    item.append(button(word(key.name), () => go({ key: key.id })));
    return item;
  });
  if (after) {
    byId("keys").append(...items);
  } else {
    byId("keys").replaceChildren(...items);
  }
  byId("keys-empty").hidden = byId("keys").children.length > 0;
  byId("keys-more").hidden = !answer.more;
}

// A key's history

async function showTimeline(id, before) {
  const answer = await ask("timeline", { cell: id, before: before ?? "" });
  const rows = [
    ...answer.operations.map((operation) => [operation.row, historyRow(operation)]),
    ...answer.marks.map((mark) => [mark.row, markRow(mark)]),
  ].sort((one, other) => other[0] - one[0]);
  const made = rows.map(([, row]) => row);
  if (before) {
    byId("history").append(...made);
  } else {
    byId("history").replaceChildren(...made);
  }
  say(byId("timeline-key"), word(answer.cell.name));
  byId("timeline").dataset.id = id;
  byId("timeline").dataset.before = answer.operations.at(-1)?.row ?? "";
  byId("history-more").hidden = !answer.more;
  byId("history-empty").hidden = byId("history").children.length > 0;
  byId("timeline").hidden = false;
  if (!before) {
    byId("timeline").focus({ preventScroll: true });
    byId("timeline").scrollIntoView({ block: "nearest" });
  }
}

function cells(operation) {
  const row = cell("number", "Row");
  row.textContent = operation.row;
  const when = cell("when", "When");
  when.textContent = time(operation.at);
  const who = cell("who", "Who");
  who.textContent = operation.client;
  const what = cell("command wide", "Command");
  what.append(make("code", "", command(operation)));
  const told = cell("reply wide", "Reply");
  told.append(make("code", "", reply(operation)));
  return [row, when, who, what, told];
}

function askCell(operation) {
  const last = cell("ask", "");
  last.append(button("Why", () => go({ row: operation.row }), `Why did row ${operation.row} get its reply?`));
  return last;
}

function historyRow(operation) {
  const row = make("tr");
  const effect = cell("effect", "Effect");
  effect.append(make("span", `badge ${operation.effect}`, EFFECTS[operation.effect]));
  row.append(...cells(operation), effect, askCell(operation));
  return row;
}

const MARKS = {
  epoch: "Another life of the store begins",
  gap: "Operations are missing here",
  outside: "Something that did not pass the recorder wrote here",
  folded: "Of what is older, only what answers need is kept",
  horizon: "The record begins here",
};

function markRow(mark) {
  const row = make("tr", `mark ${mark.kind}`);
  const all = make("td", "wide", `${MARKS[mark.kind]} (row ${mark.row}) ${time(mark.at)}`);
  all.colSpan = 7;
  all.append(make("span", "sub", mark.text));
  row.append(all);
  return row;
}

// An answer, as a graph to walk

const walk = { nodes: new Map(), edges: [], open: new Set(), answer: null, chosen: 0 };

async function showAnswer(parameters) {
  const answer = await ask("why", parameters);
  walk.answer = answer;
  walk.chosen = 0;
  walk.question = answer.recorded ? answer.question.row : 0;
  say(byId("asked"), `${command(answer.question)} → ${told(answer)}`);
  say(byId("certainty"), answer.certainty);
  byId("certainty").className = `badge ${answer.certainty === "certain" ? "" : "doubt"}`;
  const cut = answer.truncated ? " There is more than is shown." : "";
  const more = answer.minimal ? "" : " Not all that is shown need be necessary.";
  say(byId("meaning"), `${MEANINGS[answer.certainty] ?? ""}${more}${cut}`);
  byId("note").hidden = !answer.note;
  say(byId("note"), answer.note);
  choose(0);
  byId("answer").hidden = false;
  byId("answer").focus({ preventScroll: true });
  byId("answer").scrollIntoView({ block: "nearest" });
}

/** Shows one of several witnesses, and nothing of walks from another. */
function choose(index) {
  const { answer } = walk;
  walk.chosen = index;
  walk.nodes = new Map();
  walk.edges = [];
  walk.open = new Set();
  add("q", { ...answer.question, row: walk.question, asked: true });
  join("q", answer.witnesses[index] ?? { elements: [], edges: [] });
  const group = byId("alternatives");
  group.hidden = answer.witnesses.length < 2;
  group.replaceChildren(
    ...answer.witnesses.map((witness, i) => {
      const made = button(i === 0 ? "Either" : `or ${i + 1}`, () => choose(i));
      made.setAttribute("aria-pressed", String(i === index));
      return made;
    }),
  );
  draw();
}

/** Adds what a witness of a node's reply says. Its row 0 is the question. */
function join(from, witness) {
  let clock = 0;
  for (const element of witness.elements) {
    if (element.clock) {
      const id = `c${element.clock}-${clock++}`;
      add(id, { clock: element.clock, until: element.until, at: element.clock });
      link(from, id, "cause");
    } else {
      add(`r${element.row}`, element);
    }
  }
  for (const [later, earlier] of witness.edges) {
    link(later === 0 ? from : `r${later}`, `r${earlier}`, "cause");
  }
}

function add(id, node) {
  if (!walk.nodes.has(id)) {
    walk.nodes.set(id, { id, ...node });
  }
}

function link(from, to, kind) {
  if (from !== to && !walk.edges.some((edge) => edge.from === from && edge.to === to)) {
    walk.edges.push({ from, to, kind });
  }
}

async function explain(node, part) {
  const answer = await ask("why", { row: node.row, part: part ?? "" });
  node.why = answer;
  join(node.id, answer.witnesses[0] ?? { elements: [], edges: [] });
  draw();
}

async function lookBefore(node) {
  const answer = await ask("before", { row: node.row, before: node.next ?? "" });
  node.next = answer.next ?? 0;
  node.looked = true;
  for (const read of answer.reads) {
    add(`r${read.row}`, read);
    link(node.id, `r${read.row}`, "read");
  }
  draw();
}

async function open(node, item) {
  if (walk.open.delete(node.id)) {
    draw();
    return;
  }
  if (node.row && !node.details) {
    node.details = await ask("operation", { row: node.row });
  }
  walk.open.add(node.id);
  draw();
  item.querySelector("button").focus();
}

/** Newest first; the question, if it is one of now, above all. */
function ordered() {
  const rank = (node) => (node.asked && !node.row ? "~" : node.at);
  return [...walk.nodes.values()].sort((one, other) => {
    if (one.row && other.row) {
      return other.row - one.row;
    }
    return rank(one) < rank(other) ? 1 : -1;
  });
}

function draw() {
  list(byId("nodes"), ordered(), (node) => node.id, makeNode, updateNode);
  drawLines();
}

function makeNode(node) {
  const item = make("li", "node");
  const head = make("button", "choose");
  head.type = "button";
  head.addEventListener("click", () => attempt(() => open(walk.nodes.get(item.dataset.key), item)));
  head.append(make("span", "title"), make("span", "sub"));
  if (node.clock) {
    head.disabled = true;
  }
  item.append(head, make("p", "because"), make("div", "panel"));
  return item;
}

function updateNode(item, node) {
  const isOpen = walk.open.has(node.id);
  item.classList.toggle("asked", Boolean(node.asked));
  item.querySelector(".choose").setAttribute("aria-expanded", String(isOpen));
  if (node.clock) {
    say(item.querySelector(".title"), `The clock passed ${time(node.clock)}`);
    const until = node.until === undefined ? "" : node.until ? ` or up to ${time(node.until)}` : " or later";
    say(item.querySelector(".choose .sub"), `a deadline${until}`);
  } else {
    const answer = node.asked ? told(walk.answer) : reply(node);
    say(item.querySelector(".title"), `${command(node)} → ${answer}`);
    const where = node.row ? `row ${node.row} · ${time(node.at)} · ${node.client}` : "asked now, on this page";
    say(item.querySelector(".choose .sub"), node.asked && node.row ? `${where} · the question` : where);
  }
  because(item.querySelector(".because"), node);
  const panel = item.querySelector(".panel");
  panel.hidden = !isOpen;
  if (isOpen) {
    fillPanel(panel, node);
  } else {
    panel.replaceChildren();
  }
}

/** The lines in words, as links. */
function because(parent, node) {
  const causes = walk.edges.filter((edge) => edge.from === node.id);
  parent.hidden = causes.length === 0;
  const parts = [];
  for (const [kind, text] of [
    ["cause", "because of"],
    ["read", "its sender had read"],
  ]) {
    const targets = causes.filter((edge) => edge.kind === kind).map((edge) => walk.nodes.get(edge.to));
    targets.forEach((target, i) => {
      parts.push(i === 0 ? ` ${text} ` : " ");
      if (target.row) {
        parts.push(button(`row ${target.row}`, () => focusNode(target.id)));
      } else {
        parts.push("the clock");
      }
    });
  }
  const key = parts.map((part) => part.textContent ?? part).join("");
  if (parent.dataset.shown !== key) {
    parent.dataset.shown = key;
    parent.replaceChildren(...parts);
  }
}

function focusNode(id) {
  const item = [...byId("nodes").children].find((child) => child.dataset.key === id);
  item.querySelector("button").focus();
}

function fillPanel(panel, node) {
  const facts = make("dl", "facts");
  const details = node.details ?? node;
  for (const [name, text] of [
    ["Who", details.client],
    ["Address", details.address],
    ["User", details.user],
    ["Connection", details.connection || ""],
    ["Lane", details.lane],
    ["Sent", time(details.at)],
    ["Replied", time(details.replied)],
  ]) {
    if (text) {
      const box = make("div");
      box.append(make("dt", "", name), make("dd", "", String(text)));
      facts.append(box);
    }
  }
  const actions = make("p", "actions");
  if (node.row && !node.asked) {
    actions.append(button("Why this reply?", () => explain(node)));
  }
  (details.parts ?? []).forEach((part, i) =>
    actions.append(button(`Why element ${i}: ${part.slice(0, 40)}`, () => explain(node, i))),
  );
  if (node.row && node.next !== 0) {
    const text = node.looked ? "And before that?" : "What had its sender read before?";
    actions.append(button(text, () => lookBefore(node)));
  }
  for (const key of details.cells ?? []) {
    actions.append(button(`History of ${word(key.name).slice(0, 60)}`, () => go({ key: key.id })));
  }
  const said = [];
  if (node.why) {
    said.push(make("p", "note", `${node.why.certainty}: ${MEANINGS[node.why.certainty] ?? ""} ${node.why.note}`));
  }
  if (node.looked && !walk.edges.some((edge) => edge.from === node.id && edge.kind === "read")) {
    said.push(make("p", "note", "It had read nothing before that is on record."));
  }
  panel.replaceChildren(facts, ...said, actions);
}

/** Draws an arc from each operation to those that it depends on, left of their list. */
function drawLines() {
  const svg = byId("lines");
  const items = new Map([...byId("nodes").children].map((item) => [item.dataset.key, item]));
  const middle = (id) => {
    const item = items.get(id);
    return item.offsetTop + Math.min(item.offsetHeight / 2, 20);
  };
  const arcs = walk.edges
    .filter((edge) => items.has(edge.from) && items.has(edge.to))
    .map((edge) => ({ kind: edge.kind, from: middle(edge.from), to: middle(edge.to) }))
    .sort((one, other) => Math.abs(one.to - one.from) - Math.abs(other.to - other.from));
  const lanes = [];
  for (const arc of arcs) {
    const top = Math.min(arc.from, arc.to);
    const bottom = Math.max(arc.from, arc.to);
    let lane = lanes.findIndex((taken) => taken.every(([a, b]) => b <= top || bottom <= a));
    if (lane < 0) {
      lane = Math.min(lanes.length, MOST_LANES - 1);
    }
    (lanes[lane] ??= []).push([top, bottom]);
    arc.lane = lane;
  }
  const width = (lanes.length + 1) * LANE_WIDTH + 2;
  byId("nodes").style.setProperty("--gutter", `${width}px`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", byId("nodes").offsetHeight);
  svg.replaceChildren(
    ...arcs.map((arc) => {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const x = width - (arc.lane + 1) * LANE_WIDTH - 2;
      const turn = Math.sign(arc.to - arc.from) * 5;
      path.setAttribute(
        "d",
        `M${width} ${arc.from}H${x + 5}Q${x} ${arc.from} ${x} ${arc.from + turn}` +
          `V${arc.to - turn}Q${x} ${arc.to} ${x + 5} ${arc.to}H${width - 1}m-5 -3.5l5 3.5l-5 3.5`,
      );
      path.setAttribute("class", arc.kind);
      return path;
    }),
  );
}

new ResizeObserver(drawLines).observe(byId("nodes"));

// What passes now

function liveRow(operation) {
  const row = make("tr");
  row.append(...cells(operation), askCell(operation));
  row.dataset.text = `${operation.client} ${command(operation)} ${reply(operation)}`.toLowerCase();
  return row;
}

function showLive(event) {
  const rows = event.operations.map(liveRow).reverse();
  if (event.skipped > 0) {
    const row = make("tr", "mark");
    const all = make("td", "wide", `${event.skipped} more passed; they are in the trace.`);
    all.colSpan = 6;
    row.append(all);
    rows.push(row);
  }
  byId("live").prepend(...rows);
  while (byId("live").children.length > LIVE_ROWS) {
    byId("live").lastElementChild.remove();
  }
  byId("live-empty").hidden = byId("live").children.length > 0;
  filter();
}

function filter() {
  const wanted = byId("filter").value.toLowerCase();
  for (const row of byId("live").children) {
    row.hidden = row.dataset.text !== undefined && !row.dataset.text.includes(wanted);
  }
}

function showAbout(about) {
  const asOf = about.at ? `as of row ${about.row}, ${time(about.at)}` : "nothing is recorded yet";
  const waits = about.whole ? "" : ". What came later is recorded, and not loaded yet";
  say(byId("about"), `${about.store} at ${about.server}: ${asOf}${waits}.`);
  if (about.store) {
    byId("request").placeholder = about.store === "redis" ? "GET cart:42" : "";
  }
}

/** Reads server-sent events; the browser's own reader of them would send no token. */
async function follow() {
  tailing = new AbortController();
  try {
    const answer = await call("tail", {}, tailing.signal);
    state("live", "Live");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += part.value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events.filter((each) => each.startsWith("data: "))) {
        const told = JSON.parse(event.slice("data: ".length));
        showAbout(told.about);
        showLive(told);
      }
    }
    throw new Error("the end");
  } catch (problem) {
    if (problem instanceof Refused && problem.status === 401) {
      lock();
    } else if (!paused) {
      state("lost", problem instanceof Refused ? problem.message : "No answer");
      setTimeout(() => paused || follow(), RETRY_MILLIS);
    }
  }
}

byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  say(byId("pause"), paused ? "Resume" : "Pause");
  if (paused) {
    tailing.abort();
    state("waiting", "Paused");
  } else {
    follow();
  }
});

byId("filter").addEventListener("input", filter);

// Where one is: in the address, but for the token, which is kept for this tab only

function place() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

async function show() {
  here.abort();
  here = new AbortController();
  const { key, row, request, space, at, all } = place();
  if (key) {
    await showTimeline(key);
  } else if (row) {
    await showAnswer({ row, all: all ?? "" });
  } else if (request) {
    await showAnswer({ request, space: space ?? "", at: at ?? "", all: all ?? "" });
  }
}

function go(parameters) {
  const wanted = new URLSearchParams(Object.entries(parameters).filter(([, text]) => text !== ""));
  window.history.pushState(null, "", `?${wanted}`);
  return show();
}

window.addEventListener("popstate", () => attempt(show));

byId("search").addEventListener("submit", (event) => {
  event.preventDefault();
  known.space = byId("space").value.trim();
  attempt(() => search());
});

byId("keys-more").addEventListener("click", () =>
  attempt(() => search(byId("keys").lastElementChild.dataset.id)),
);

byId("history-more").addEventListener("click", () =>
  attempt(() => showTimeline(byId("timeline").dataset.id, byId("timeline").dataset.before)),
);

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const at = byId("at").value;
  attempt(() =>
    go({
      request: byId("request").value,
      space: byId("space").value.trim(),
      at: at ? new Date(at).toISOString() : "",
      all: byId("all").checked ? "1" : "",
    }),
  );
});

byId("locked").addEventListener("submit", (event) => {
  event.preventDefault();
  unlock(byId("token").value.trim());
});

function lock() {
  sessionStorage.removeItem(TOKEN);
  byId("main").hidden = true;
  byId("locked").hidden = false;
  state("lost", "Locked");
  byId("token").focus();
}

function unlock(given) {
  token = given;
  attempt(async () => {
    showAbout(await (await call("about", {})).json()); // Whoever goes to another place meanwhile asks it all the same.
    sessionStorage.setItem(TOKEN, token);
    byId("locked").hidden = true;
    byId("main").hidden = false;
    follow();
    await Promise.all([search(), show()]);
  });
}

const given = location.hash.slice(1) || sessionStorage.getItem(TOKEN);
window.history.replaceState(null, "", location.pathname + location.search);
if (given) {
  unlock(given);
} else {
  lock();
}

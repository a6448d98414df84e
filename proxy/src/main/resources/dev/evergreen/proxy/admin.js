import { byId, bytes, cell, count, list, make, micros, rate, Recent, say, state, tiles } from "./page.js";

const SHOWN = 50;
const REMEMBERED = 1000;
const requests = [];
const recent = new Recent();
let before = null;
let number = 0;

/** Lets the cells of a row say their texts; a cell is [label, text, class]. */
function tell(row, cells) {
  cells.forEach(([, text], at) => say(row.children[at], String(text)));
}

function row(cells) {
  const made = make("tr");
  made.append(...cells.map(([label, , className]) => cell(className ?? "", label)));
  return made;
}

// Numbers

function showNumbers(stats) {
  const now = { at: performance.now(), counts: stats.counts };
  const last = before ?? { at: now.at - 1000, counts: now.counts };
  const seconds = (now.at - last.at) / 1000;
  const since = (name) => now.counts[name] - last.counts[name];
  before = now;
  const looked = since("hits") + since("misses");
  const all = now.counts.hits + now.counts.misses;
  const ratio = looked > 0 ? since("hits") / looked : null;
  const inAll = all > 0 ? `${((100 * now.counts.hits) / all).toFixed(1)} % in all` : "";
  const requested = since("requests") / seconds;
  const sent = since("bytes_out") / seconds;
  const numbers = [
    { name: "Requests/s", value: rate(requested), point: requested, more: `${count(now.counts.requests)} in all` },
    { name: "Hit ratio", value: ratio === null ? "–" : `${(100 * ratio).toFixed(1)} %`, point: ratio, more: inAll },
    { name: "Sent/s", value: bytes(Math.round(sent)), point: sent, more: `${bytes(now.counts.bytes_out)} in all` },
    { name: "In memory", value: bytes(stats.storage.memory_bytes) },
    { name: "On disk", value: bytes(stats.storage.disk_bytes) },
    { name: "Origin failures", value: count(now.counts.origin_failures), more: `${count(stats.fetches)} fetches under way` },
  ];
  tiles(byId("tiles"), numbers, recent);
  list(byId("origins"), Object.entries(stats.origins), ([name]) => name, originRow, updateOrigin);
}

function originCells([name, origin]) {
  return [
    ["", name, "wide"],
    ["State", ""],
    ["Under way", count(origin.under_way), "number"],
    ["Requests", count(origin.requests), "number"],
    ["Failures", count(origin.failures), "number"],
  ];
}

function originRow(entry) {
  const made = row(originCells(entry));
  made.children[1].append(make("span", "badge"));
  return made;
}

function updateOrigin(made, entry) {
  const badge = made.querySelector(".badge");
  const cells = originCells(entry);
  badge.className = entry[1].well ? "badge" : "badge bad";
  say(badge, entry[1].well ? "well" : "left alone");
  cells.forEach(([label, text], at) => {
    if (label !== "State") {
      say(made.children[at], text);
    }
  });
}

async function numbers() {
  try {
    const answer = await fetch("stats");
    showNumbers(await answer.json());
    state("live", "Live");
  } catch {
    state("lost", "No answer");
  }
  setTimeout(numbers, 1000);
}

// Requests

function course(request) {
  const made = make("ol");
  made.hidden = true;
  for (const step of request.course) {
    made.append(make("li", "", `${micros(step.micros)} ${step.point} ${step.detail}`));
  }
  return made;
}

function liveRow(request) {
  const cells = [
    ["", "", "wide"],
    ["Time", request.time.slice(11, 23)],
    ["Client", request.client],
    ["Status", request.status],
    ["Cache", request.cache ?? request.failure ?? ""],
    ["Bytes", bytes(request.bytes), "number"],
    ["Took", micros(request.micros), "number"],
  ];
  const made = row(cells);
  tell(made, cells);
  const steps = course(request);
  const button = make("button", "link", `${request.method} ${request.host}${request.target}`);
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    steps.hidden = !steps.hidden;
    button.setAttribute("aria-expanded", String(!steps.hidden));
  });
  made.firstElementChild.append(button, steps);
  return made;
}

function hotCells([uri, counts]) {
  return [
    ["", uri, "wide"],
    ["Requests", count(counts.all), "number"],
    ["Hits", count(counts.hits), "number"],
  ];
}

function showHot() {
  const uris = new Map();
  for (const request of requests) {
    const uri = request.host + request.target;
    const counts = uris.get(uri) ?? { all: 0, hits: 0 };
    counts.all++;
    counts.hits += request.cache?.startsWith("hit") ? 1 : 0;
    uris.set(uri, counts);
  }
  const hottest = [...uris].sort((a, b) => b[1].all - a[1].all).slice(0, 10);
  const update = (made, entry) => tell(made, hotCells(entry));
  list(byId("hot"), hottest, ([uri]) => uri, (entry) => row(hotCells(entry)), update);
}

function showLive() {
  const last = requests.slice(-SHOWN).reverse();
  list(byId("live"), last, (request) => String(request.number), liveRow, () => {});
}

function take(line) {
  if (line !== "") {
    requests.push({ ...JSON.parse(line), number: number++ });
    if (requests.length > REMEMBERED) {
      requests.shift();
    }
  }
}

async function follow() {
  try {
    const answer = await fetch("log?follow&course");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      lines.forEach(take);
      showLive();
    }
  } catch {
    // It is tried again.
  }
  requests.length = 0;
  showLive();
  setTimeout(follow, 1000);
}

byId("purge").addEventListener("submit", async (event) => {
  event.preventDefault();
  const query = `${byId("kind").value}=${encodeURIComponent(byId("what").value)}`;
  const answer = await fetch(`purge?${query}${byId("soft").checked ? "&soft" : ""}`, { method: "POST" });
  say(byId("purged"), await answer.text());
});

numbers();
follow();
setInterval(showHot, 1000);

"use strict";

const SHOWN = 50;
const REMEMBERED = 1000;
const requests = [];
let before = null;

const byId = (id) => document.getElementById(id);

/** An element with a text, or with elements inside. What clients sent is never taken for markup. */
function element(name, ...inside) {
  const made = document.createElement(name);
  made.append(...inside.map((each) => (each instanceof Node ? each : String(each))));
  return made;
}

const row = (...cells) => element("tr", ...cells.map((cell) => element("td", cell)));

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let number = count;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit++;
  }
  return (unit === 0 ? number : number.toFixed(1)) + " " + units[unit];
}

function state(name, text) {
  byId("state").dataset.state = name;
  byId("state").textContent = text;
}

function showNumbers(stats) {
  const now = { at: performance.now(), counts: stats.counts };
  const last = before ?? { at: now.at - 1000, counts: now.counts };
  const seconds = (now.at - last.at) / 1000;
  const since = (name) => now.counts[name] - last.counts[name];
  before = now;
  const looked = since("hits") + since("misses");
  const all = now.counts.hits + now.counts.misses;
  const ratio = looked > 0 ? since("hits") / looked : all > 0 ? now.counts.hits / all : 0;
  const tiles = {
    "Requests a second": (since("requests") / seconds).toFixed(0),
    "Hit ratio": (100 * ratio).toFixed(1) + " %",
    "Sent a second": bytes(Math.round(since("bytes_out") / seconds)),
    "Fetches under way": stats.fetches,
    "In memory": bytes(stats.storage.memory_bytes),
    "On disk": bytes(stats.storage.disk_bytes),
    "Origin failures": now.counts.origin_failures,
  };
  byId("tiles").replaceChildren(
    ...Object.entries(tiles).map(([name, value]) =>
      element("div", element("dt", name), element("dd", value)),
    ),
  );
  byId("origins").replaceChildren(
    ...Object.entries(stats.origins).map(([name, origin]) => {
      const well = element("span", origin.well ? "well" : "left alone");
      well.className = origin.well ? "" : "bad";
      return row(name, well, origin.under_way, origin.requests, origin.failures);
    }),
  );
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

function course(request) {
  const steps = request.course.map((step) =>
    element("li", `${(step.micros / 1000).toFixed(3)} ms ${step.point} ${step.detail}`),
  );
  const list = element("ol", ...steps);
  list.hidden = true;
  return list;
}

function liveRow(request) {
  const list = course(request);
  const button = element("button", `${request.method} ${request.host}${request.target}`);
  button.className = "link";
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    list.hidden = !list.hidden;
    button.setAttribute("aria-expanded", String(!list.hidden));
  });
  return row(
    request.time.slice(11, 23),
    request.client,
    element("div", button, list),
    request.status,
    request.cache ?? request.failure ?? "",
    request.bytes,
    (request.micros / 1000).toFixed(1),
  );
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
  byId("hot").replaceChildren(...hottest.map(([uri, { all, hits }]) => row(uri, all, hits)));
}

function take(line) {
  if (line === "") {
    return;
  }
  const request = JSON.parse(line);
  requests.push(request);
  if (requests.length > REMEMBERED) {
    requests.shift();
  }
  byId("live").prepend(liveRow(request));
  while (byId("live").childElementCount > SHOWN) {
    byId("live").lastElementChild.remove();
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
    }
  } catch {
    // It is tried again.
  }
  requests.length = 0;
  byId("live").replaceChildren();
  setTimeout(follow, 1000);
}

byId("purge").addEventListener("submit", async (event) => {
  event.preventDefault();
  const query = `${byId("kind").value}=${encodeURIComponent(byId("what").value)}`;
  const answer = await fetch(`purge?${query}${byId("soft").checked ? "&soft" : ""}`, {
    method: "POST",
  });
  byId("purged").textContent = await answer.text();
});

numbers();
follow();
setInterval(showHot, 1000);

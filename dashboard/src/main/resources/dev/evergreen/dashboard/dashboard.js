/* Shows what the server says each second (docs/web-protocol.md, the view evergreen.dashboard). */

import {
  age,
  byId,
  cell,
  count,
  counted,
  draw,
  list,
  make,
  micros,
  rate,
  Recent,
  say,
  spark,
  state,
  tiles,
} from "./page.js";

const RETRY_MILLIS = 3000;

/** After so many heartbeats without a word the connection is none, whatever the browser takes it for. */
const SILENT_HEARTBEATS = 2;

const recent = new Recent();
let source = null;
let heartbeat = 15000;
let silence;
let paused = false;
let silentNow = new Set();

// Tiles

const sum = (nodes, of) => nodes.reduce((total, node) => total + of(node), 0);

/** Null while no node has a rate. */
function sumOfRates(nodes, of) {
  const known = nodes.filter((node) => node.rates);
  return known.length === 0 ? null : sum(known, (node) => of(node.rates));
}

const slowest = (nodes, of) => Math.max(0, ...nodes.map((node) => (node.rates ? of(node.rates) : 0)));

function numbers(up) {
  const calls = sumOfRates(up, (rates) => rates.calls);
  const troubles = sumOfRates(up, (rates) => rates.troubles);
  const latency = slowest(up, (rates) => rates.p99);
  const pushes = sumOfRates(up, (rates) => rates.pushes);
  const runs = sumOfRates(up, (rates) => rates.runs);
  const reads = sumOfRates(up, (rates) => rates.reads);
  const saves = sumOfRates(up, (rates) => rates.saves);
  const subscriptions = sum(up, (node) => node.counts.subscriptions);
  return [
    {
      name: "Calls per second",
      value: rate(calls),
      point: calls,
      more: troubles ? `${rate(troubles)} without success` : "all with success",
    },
    {
      name: "Latency, 99th percentile",
      value: micros(latency),
      point: latency,
      more: `median ${micros(slowest(up, (rates) => rates.p50))}, longest ${micros(slowest(up, (rates) => rates.longest))}`,
    },
    { name: "Pushes per second", value: rate(pushes), point: pushes, more: `${rate(saves)} saves per second` },
    { name: "Runs per second", value: rate(runs), point: runs, more: `${rate(reads)} reads per second` },
    {
      name: "Subscriptions",
      value: count(subscriptions),
      point: subscriptions,
      more: [
        counted(sum(up, (node) => node.counts.computations), "computation", "computations"),
        counted(sum(up, (node) => node.counts.caches), "cache", "caches"),
      ].join(", "),
    },
  ];
}

// Nodes

const idOf = (node) => `${node.address}#${node.incarnation}`;

function makeNode(node) {
  const row = make("tr");
  const name = make("th", "wide", node.address);
  name.scope = "row";
  name.title = `incarnation ${node.incarnation}`;
  const state = cell("mark wide");
  state.append(make("span", "badge"));
  row.append(name, state);
  for (const label of ["Grains", "Calls/s", "Median", "99th pct.", "Pushes/s", "Runs/s", "Waiting"]) {
    row.append(cell("number", label));
  }
  const chart = cell("wide");
  chart.append(spark());
  row.append(chart);
  return row;
}

function updateNode(row, node, at) {
  const silent = node.silentSeconds > 0;
  const rates = node.rates ?? {};
  const outboxes = Object.values(node.queues.outboxes).reduce((a, b) => a + b, 0);
  row.classList.toggle("silent", silent);
  const up = age((Date.parse(at) - Date.parse(node.upSince)) / 1000);
  say(row.children[1].firstChild, silent ? `no answer for ${age(node.silentSeconds)}` : `up ${up}`);
  const numbers = [
    count(node.counts.activations),
    rate(rates.calls),
    micros(rates.p50),
    micros(rates.p99),
    rate(rates.pushes),
    rate(rates.runs),
    count(node.queues.calls + node.queues.runs + outboxes),
  ];
  numbers.forEach((text, i) => say(row.children[i + 2], text));
  row.children[8].title = `${node.queues.calls} calls, ${node.queues.runs} runs, ${outboxes} results for other nodes`;
  draw(row.querySelector("svg"), recent.add(`node ${idOf(node)}`, rates.calls ?? null));
}

// Types

function types(up) {
  const byType = new Map();
  for (const node of up) {
    for (const [type, active] of Object.entries(node.activations)) {
      byType.set(type, (byType.get(type) ?? 0) + active);
    }
  }
  const all = [...byType].map(([type, active]) => ({ type, active }));
  all.sort((a, b) => b.active - a.active || a.type.localeCompare(b.type));
  return all;
}

function makeType(item) {
  const row = make("tr");
  const name = make("th", "", item.type);
  name.scope = "row";
  const bar = make("td", "bar");
  bar.setAttribute("aria-hidden", "true");
  const track = make("div", "track");
  track.append(make("div", "fill"));
  bar.append(track);
  row.append(name, bar, make("td", "number"));
  return row;
}

function updateType(row, item, most) {
  row.querySelector(".fill").style.width = `${(100 * item.active) / most}%`;
  say(row.children[2], count(item.active));
}

// Facts

function facts(up) {
  const total = (name) => sum(up, (node) => node.totals[name]);
  return [
    { name: "Calls", value: total("calls") },
    { name: "Failed", value: total("failed"), watch: true },
    { name: "Timed out", value: total("timedOut"), watch: true },
    { name: "Refused", value: total("refused"), watch: true },
    { name: "Attempts repeated", value: total("retried") },
    { name: "Runs discarded", value: total("discarded") },
    { name: "Cycles found", value: total("cycles"), watch: true },
    { name: "Pushes sent again", value: total("resent") },
    { name: "Save conflicts", value: total("conflicts"), watch: true },
    { name: "Storage failures", value: total("storageFailures"), watch: true },
  ];
}

function makeFact(fact) {
  const box = make("div");
  box.append(make("dt", "", fact.name), make("dd"));
  return box;
}

function updateFact(box, fact) {
  box.classList.toggle("bad", Boolean(fact.watch) && fact.value > 0);
  say(box.children[1], count(fact.value));
}

// Hottest summaries

function hottest(up) {
  const all = up.flatMap((node) =>
    node.hottest.map((hot) => ({ node, ...hot.summary, perSecond: hot.runsPerSecond })),
  );
  all.sort((a, b) => (b.perSecond ?? 0) - (a.perSecond ?? 0) || b.runs - a.runs || b.readers - a.readers);
  return all.slice(0, 20);
}

function makeHot(hot) {
  const row = make("tr");
  const name = make("th", "operation wide", `${hot.operation}(${hot.arguments})`);
  name.scope = "row";
  name.append(make("span", "sub", `${hot.type} ${hot.key}`));
  row.append(name, cell("wide", "Node"));
  for (const label of ["Runs/s", "Runs", "Subscribers", "Readers"]) {
    row.append(cell("number", label));
  }
  return row;
}

function updateHot(row, hot) {
  const texts = [hot.node.address, rate(hot.perSecond), count(hot.runs), count(hot.subscribers), count(hot.readers)];
  texts.forEach((text, i) => say(row.children[i + 1], text));
}

// The whole

function tellOfSilence(nodes) {
  const silent = new Set(nodes.filter((node) => node.silentSeconds > 0).map(idOf));
  const lost = [...silent].filter((id) => !silentNow.has(id));
  const back = nodes.filter((node) => silentNow.has(idOf(node)) && !silent.has(idOf(node)));
  const news = [
    ...lost.map((id) => `Node ${id.slice(0, id.lastIndexOf("#"))} does not answer.`),
    ...back.map((node) => `Node ${node.address} answers again.`),
  ];
  if (news.length > 0) {
    byId("news").textContent = news.join(" ");
  }
  silentNow = silent;
}

function show(look) {
  const nodes = look.nodes;
  const up = nodes.filter((node) => node.silentSeconds === 0);
  tiles(byId("tiles"), numbers(up), recent);
  list(byId("nodes").tBodies[0], nodes, idOf, makeNode, (row, node) => updateNode(row, node, look.at));
  say(byId("nodes-count"), up.length === nodes.length ? `${nodes.length}` : `${up.length} of ${nodes.length} answer`);
  byId("nodes-empty").hidden = nodes.length > 0;
  const byType = types(up);
  const most = Math.max(1, ...byType.map((item) => item.active));
  list(byId("types").tBodies[0], byType, (item) => item.type, makeType, (row, item) => updateType(row, item, most));
  say(byId("types-count"), count(sum(up, (node) => node.counts.activations)));
  byId("types-empty").hidden = byType.length > 0;
  list(byId("facts"), facts(up), (fact) => fact.name, makeFact, updateFact);
  const hot = hottest(up);
  const keyOf = (one) => JSON.stringify([idOf(one.node), one.type, one.key, one.operation, one.arguments]);
  list(byId("hot").tBodies[0], hot, keyOf, makeHot, updateHot);
  byId("hot-empty").hidden = hot.length > 0;
  recent.keep((name) => !name.startsWith("node ") || nodes.some((node) => name === `node ${idOf(node)}`));
  tellOfSilence(nodes);
}

function receive(event) {
  const message = JSON.parse(event.data);
  expectMore();
  switch (message.type) {
    case "hello":
      heartbeat = message.heartbeat;
      break;
    case "result":
      state("live", "Live");
      show(message.value);
      break;
    case "error":
    case "end":
      state("lost", message.error.message);
      break;
    case "bye":
      state("waiting", "Reconnecting…");
      break;
    default:
      break;
  }
}

/** In a network that has gone nothing tells of the end of a connection that is only read. */
function expectMore() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    state("lost", "Not connected");
    disconnect();
    connect();
  }, SILENT_HEARTBEATS * heartbeat);
}

function connect() {
  expectMore();
  source = new EventSource(document.body.dataset.live);
  source.onmessage = receive;
  source.onerror = () => {
    state("lost", "Not connected");
    if (source !== null && source.readyState === EventSource.CLOSED) {
      // The server has answered with an error, after which browsers do not try again by themselves.
      disconnect();
      setTimeout(() => paused || source !== null || connect(), RETRY_MILLIS);
    }
  };
}

function disconnect() {
  clearTimeout(silence);
  source?.close();
  source = null;
}

byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  if (paused) {
    disconnect();
    state("waiting", "Paused");
  } else {
    state("waiting", "Connecting…");
    connect();
  }
});

connect();

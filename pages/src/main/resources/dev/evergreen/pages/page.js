/* What the scripts of pages for operators share: numbers for people, elements, charts. Elements are made once and then only
   given other texts, so that focus and selection stay where they are. Texts are never taken for markup. */

const POINTS = 60;

export const byId = (id) => document.getElementById(id);

// Numbers

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export function count(value) {
  return Math.abs(value) < 100000 ? plain.format(value) : compact.format(value);
}

export function rate(value) {
  if (value === null || value === undefined) {
    return "–";
  }
  if (value === 0) {
    return "0";
  }
  return value < 10 ? value.toFixed(1) : count(value);
}

export function micros(value) {
  if (!value) {
    return "–";
  }
  if (value < 1000) {
    return `${significant(value)} µs`;
  }
  return value < 1e6 ? `${significant(value / 1000)} ms` : `${significant(value / 1e6)} s`;
}

function significant(value) {
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}

export function counted(value, one, many) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const unit = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${unit === 0 ? Math.round(value) : (value / 1024 ** unit).toFixed(1)} ${units[unit]}`;
}

export function age(seconds) {
  const units = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
  ];
  for (const [length, name] of units) {
    if (seconds >= length) {
      return `${Math.floor(seconds / length)} ${name}`;
    }
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}

// Elements

export function make(name, className, text) {
  const element = document.createElement(name);
  if (className) {
    element.className = className;
  }
  if (text !== undefined) {
    element.textContent = text;
  }
  return element;
}

export function say(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Makes the children of a parent those of the items, in their order, and updates each. */
export function list(parent, items, keyOf, create, update) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  items.forEach((item, at) => {
    const key = keyOf(item);
    let child = known.get(key);
    known.delete(key);
    if (!child) {
      child = create(item);
      child.dataset.key = key;
    }
    if (parent.children[at] !== child) {
      parent.insertBefore(child, parent.children[at] ?? null);
    }
    update(child, item);
  });
  known.forEach((child) => child.remove());
}

/** A cell of a table; on narrow screens, where rows of the class "stacks" are blocks, its label stands above it. */
export function cell(className, label) {
  const td = make("td", className);
  if (label) {
    td.dataset.label = label;
  }
  return td;
}

// Charts and tiles

const SVG = "http://www.w3.org/2000/svg";

export function spark() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", `0 0 ${POINTS - 1} 24`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  for (const part of ["base", "area", "line"]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", part);
    svg.append(path);
  }
  return svg;
}

export function draw(svg, points) {
  const most = Math.max(1e-9, ...points.map((point) => point ?? 0));
  const first = POINTS - points.length;
  const at = (point, i) => `${first + i} ${(23 - (22 * (point ?? 0)) / most).toFixed(1)}`;
  const line = points.map((point, i) => (i === 0 ? "M" : "L") + at(point, i)).join("");
  const closed = points.length > 1 ? `${line}L${POINTS - 1} 24L${first} 24Z` : "";
  svg.children[0].setAttribute("d", `M0 23.5H${POINTS - 1}`);
  svg.children[1].setAttribute("d", closed);
  svg.children[2].setAttribute("d", points.length > 1 ? line : "");
}

/** The latest values of several series, by name, for their sparks. */
export class Recent {
  #series = new Map();

  /** Adds a value, null for none, and gives the series with it. */
  add(name, value) {
    const points = this.#series.get(name) ?? [];
    points.push(value);
    if (points.length > POINTS) {
      points.shift();
    }
    this.#series.set(name, points);
    return points;
  }

  keep(isWanted) {
    for (const name of this.#series.keys()) {
      if (!isWanted(name)) {
        this.#series.delete(name);
      }
    }
  }
}

function makeTile(tile) {
  const box = make("div", "tile");
  box.append(make("dt", "", tile.name), make("dd", "value"));
  if (tile.point !== undefined) {
    const chart = make("dd");
    chart.setAttribute("aria-hidden", "true");
    chart.append(spark());
    box.append(chart);
  }
  box.append(make("dd", "more"));
  return box;
}

function updateTile(box, tile, recent) {
  say(box.querySelector(".value"), tile.value);
  if (tile.point !== undefined) {
    draw(box.querySelector("svg"), recent.add(`tile ${tile.name}`, tile.point));
  }
  say(box.querySelector(".more"), tile.more ?? "");
}

/** Numbers with their names: { name, value, more, point }; with a chart where there is a point, which may be null. */
export function tiles(parent, all, recent) {
  list(parent, all, (tile) => tile.name, makeTile, (box, tile) => updateTile(box, tile, recent));
}

/** What the page says of itself at its head: live, waiting or lost, and the same in words. */
export function state(name, text) {
  const element = byId("state");
  element.dataset.state = name;
  say(element, text);
}

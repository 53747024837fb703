/**
 * The page of the circuits: who is slow, where it is full, and what changed. It asks the gate every
 * five seconds, shows differences between two answers, and cannot change anything.
 */

/** Milliseconds between two questions. */
const PERIOD = 5000;
/** Most rows of a table. */
const ROWS = 50;
/** Most changes that are kept. */
const CHANGES = 200;
/** A node or plan is full above this share. */
const FULL = 0.95;
/** A circuit is slow if its packets wait longer than this, in seconds, and than usual. */
const SLOW = 0.02;

/**
 * One direction: bytes, packets, drops, marks, waiting, sum of delays in s, p50 and p99 of the delay,
 * number of round trips, p50 and p99 of them, all times in ms.
 * @typedef {[number, number, number, number, number, number, number, number, number, number | null, number | null]} Way
 * @typedef {[string | null, string | null, number | null, number | null, Way, Way]} Circuit
 * @typedef {[string, string | null, number | null, number | null]} NodeRow
 * @typedef {{ uptime_s: number, reloads: number, link_bps: [number, number], nodes: NodeRow[], circuits: Circuit[] }} Answer
 */

/**
 * What a direction did between two answers.
 * `sent` and `echoed` say whether packets left and round trips ended meanwhile: percentiles of an idle
 * circuit are old.
 * @typedef {{ bps: number, drops: number, marks: number, delay: number, p99: number, rtt: number | null, use: number | null, sent: boolean, echoed: boolean }} Rates
 * @typedef {{ id: string, known: boolean, node: string, plans: (number | null)[], ways: [Rates, Rates] }} Row
 * @typedef {{ name: string, bps: [number, number], most: (number | null)[], circuits: number, drops: number }} Place
 */

/** @type {Answer | null} */
let before = null;
/** Mean delay of each circuit and direction so far. @type {Map<string, [number, number]>} */
const usual = new Map();
/** Circuits and nodes about which something was said. @type {Set<string>} */
const noted = new Set();
/** @type {Row[]} */
let rows = [];

/** @param {string} id */
function element(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no ${id}`);
  return found;
}

const order = /** @type {HTMLSelectElement} */ (element("order"));
const filter = /** @type {HTMLInputElement} */ (element("filter"));

/** @param {number} value */
const megabits = value => (value / 1e6).toFixed(value < 1e7 ? 2 : 0);
/** @param {number | null} value */
const millis = value => (value === null ? "–" : value.toFixed(value < 10 ? 1 : 0));

/** @param {number} seconds */
const age = seconds =>
  seconds < 3600 ? `${Math.floor(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;

/**
 * @param {Way} now
 * @param {Way | undefined} then
 * @param {number} span
 * @param {number | null} most
 * @returns {Rates}
 */
function rates(now, then, span, most) {
  /** @param {number} place */
  const more = place => Math.max(0, Number(now[place]) - Number(then?.[place] ?? 0));
  const bps = (8 * more(0)) / span;
  const sent = more(1);
  return {
    bps,
    drops: more(2) / span,
    marks: more(3) / span,
    delay: sent > 0 ? more(5) / sent : 0,
    p99: now[7],
    rtt: now[9],
    use: most ? bps / most : null,
    sent: sent > 0,
    echoed: more(8) > 0,
  };
}

/**
 * @param {Answer} now
 * @param {Answer} then
 */
function difference(now, then) {
  const span = Math.max(now.uptime_s - then.uptime_s, 0.001);
  const earlier = new Map(then.circuits.map(circuit => [circuit[0], circuit]));
  return now.circuits.map(circuit => {
    const [id, node, down, up, ...ways] = circuit;
    const old = earlier.get(id);
    return {
      id: id ?? "(unknown addresses)",
      known: id !== null,
      node: node ?? "",
      plans: [down, up],
      ways: /** @type {[Rates, Rates]} */ ([
        rates(ways[0], old?.[4], span, down),
        rates(ways[1], old?.[5], span, up),
      ]),
    };
  });
}

/**
 * The link and the nodes with what their circuits sent.
 * @param {Answer} now
 */
function places(now) {
  /** @type {Place} */
  const link = { name: "the link", bps: [0, 0], most: now.link_bps, circuits: 0, drops: 0 };
  /** @type {Map<string, { place: Place, parent: string | null }>} */
  const nodes = new Map();
  for (const [name, parent, down, up] of now.nodes) {
    const place = {
      name,
      bps: /** @type {[number, number]} */ ([0, 0]),
      most: [down, up],
      circuits: 0,
      drops: 0,
    };
    nodes.set(name, { place, parent });
  }
  for (const row of rows) {
    /** @type {(string | null)[]} */
    const above = [];
    for (let node = nodes.get(row.node); node; node = nodes.get(node.parent ?? "")) {
      above.push(node.place.name);
    }
    for (const place of [link, ...above.map(name => nodes.get(name ?? "")?.place)]) {
      if (!place) continue;
      place.circuits += row.known ? 1 : 0;
      row.ways.forEach((way, side) => {
        place.bps[side] = (place.bps[side] ?? 0) + way.bps;
        place.drops += way.drops;
      });
    }
  }
  return [link, ...[...nodes.values()].map(node => node.place)];
}

/** @param {Place} place */
const use = place =>
  Math.max(...place.bps.map((bps, side) => bps / (place.most[side] ?? Infinity)));

/**
 * @param {string} id
 * @param {string[]} head
 * @param {(string | HTMLElement)[][]} lines
 */
function table(id, head, lines) {
  const top = document.createElement("tr");
  top.append(
    ...head.map(text =>
      Object.assign(document.createElement("th"), { textContent: text, scope: "col" }),
    ),
  );
  const body = lines.map(cells => {
    const line = document.createElement("tr");
    for (const cell of cells) {
      const place = document.createElement("td");
      // Names of the operator's files are text, never markup.
      place.append(cell);
      line.append(place);
    }
    return line;
  });
  element(id).replaceChildren(top, ...body);
}

/** @param {number} share */
function bar(share) {
  const meter = document.createElement("meter");
  Object.assign(meter, {
    min: 0,
    max: 1,
    low: 0.8,
    high: FULL,
    optimum: 0,
    value: Math.min(share, 1),
  });
  const cell = document.createElement("span");
  cell.append(meter, ` ${(100 * share).toFixed(0)} %`);
  return cell;
}

/** @param {Place[]} all */
function showPlaces(all) {
  const sorted = [...all].sort((a, b) => use(b) - use(a)).slice(0, ROWS / 2);
  table(
    "full",
    ["node", "use", "Mbit/s down", "of", "Mbit/s up", "of", "circuits", "drops/s"],
    sorted.map(place => [
      place.name,
      bar(use(place)),
      megabits(place.bps[0]),
      place.most[0] ? megabits(place.most[0]) : "–",
      megabits(place.bps[1]),
      place.most[1] ? megabits(place.most[1]) : "–",
      String(place.circuits),
      place.drops.toFixed(1),
    ]),
  );
}

/** @type {Record<string, (way: Rates) => number>} */
const ORDERS = {
  delay: way => way.delay,
  p99: way => (way.sent ? way.p99 : 0),
  rtt: way => (way.echoed ? (way.rtt ?? 0) : 0),
  drops: way => way.drops,
  rate: way => way.bps,
};

function showRows() {
  const by = ORDERS[order.value] ?? (way => way.delay);
  const wanted = filter.value.trim().toLowerCase();
  const found = rows.filter(row => `${row.id}\n${row.node}`.toLowerCase().includes(wanted));
  /** @param {Row} row */
  const weight = row => Math.max(...row.ways.map(by));
  found.sort((a, b) => weight(b) - weight(a));
  /** @param {Row} row @param {(way: Rates) => string} show */
  const both = (row, show) => row.ways.map(show).join(" / ");
  table(
    "slow",
    [
      "circuit",
      "node",
      "Mbit/s down / up",
      "plan",
      "in the queue now, ms",
      "p99, ms",
      "round trip to subscriber / internet, ms",
      "drops/s",
      "marks/s",
    ],
    found
      .slice(0, ROWS)
      .map(row => [
        row.id,
        row.node,
        both(row, way => megabits(way.bps)),
        row.plans.map(plan => (plan ? megabits(plan) : "–")).join(" / "),
        both(row, way => millis(1e3 * way.delay)),
        both(row, way => millis(way.p99)),
        both(row, way => millis(way.rtt)),
        both(row, way => way.drops.toFixed(1)),
        both(row, way => way.marks.toFixed(1)),
      ]),
  );
}

/** @param {string[]} news */
function tell(news) {
  const list = element("changed");
  if (news.length && !list.querySelector("time")) list.replaceChildren();
  for (const text of news) {
    const line = document.createElement("li");
    const time = document.createElement("time");
    time.append(new Date().toLocaleTimeString());
    line.append(time, ` ${text}`);
    list.prepend(line);
  }
  while (list.children.length > CHANGES) list.lastElementChild?.remove();
}

/**
 * Says something once while `holds`, and once when it ends.
 * @param {string[]} news
 * @param {string} what
 * @param {boolean} begins
 * @param {boolean} ends
 * @param {[string, string]} texts
 */
function note(news, what, begins, ends, [begun, ended]) {
  if (begins && !noted.has(what)) {
    noted.add(what);
    news.push(begun);
  } else if (ends && noted.delete(what)) {
    news.push(ended);
  }
}

/**
 * @param {Answer} now
 * @param {Answer} then
 * @param {Place[]} all
 */
function changes(now, then, all) {
  /** @type {string[]} */
  const news = [];
  // What the page finds when it is opened is no change.
  const first = usual.size === 0;
  if (now.reloads !== then.reloads) news.push("The configuration was read again.");
  const old = new Map(then.circuits.map(circuit => [circuit[0], circuit]));
  for (const [id, , down, up] of now.circuits) {
    const was = old.get(id);
    old.delete(id);
    if (!was) news.push(`Circuit ${id} is new.`);
    else if (was[2] !== down || was[3] !== up) {
      const plan = [down, up].map(rate => (rate ? megabits(rate) : "–")).join(" / ");
      news.push(`Circuit ${id} has another plan: ${plan} Mbit/s.`);
    }
  }
  for (const id of old.keys()) news.push(`Circuit ${id} is gone.`);
  for (const place of all) {
    const share = use(place);
    note(news, `node ${place.name}`, share > FULL, share < 0.8, [
      `${place.name} is full.`,
      `${place.name} has room again.`,
    ]);
  }
  for (const row of rows) {
    const means =
      usual.get(row.id) ?? /** @type {[number, number]} */ ([row.ways[0].delay, row.ways[1].delay]);
    row.ways.forEach((way, side) => {
      const mean = means[side] ?? 0;
      const slow = way.delay > SLOW && way.delay > 3 * mean;
      const name = `Circuit ${row.id} ${side ? "up" : "down"}`;
      note(news, name, slow, way.delay < SLOW / 2, [
        `${name}: packets wait for ${millis(1e3 * way.delay)} ms, usually ${millis(1e3 * mean)}.`,
        `${name} is as fast as before.`,
      ]);
      means[side] = mean + (way.delay - mean) / 12;
    });
    usual.set(row.id, means);
  }
  if (!first) tell(news);
}

async function look() {
  const state = element("state");
  try {
    const reply = await fetch("data", { cache: "no-store" });
    if (!reply.ok) throw new Error(`the gate says ${reply.status}`);
    const now = /** @type {Answer} */ (await reply.json());
    // After a restart the counters begin anew.
    if (before && now.uptime_s > before.uptime_s) {
      rows = difference(now, before);
      const all = places(now);
      showPlaces(all);
      showRows();
      changes(now, before, all);
    } else if (before) {
      tell(["The gate was started again."]);
    }
    before = now;
    state.className = "";
    const count = Math.max(0, now.circuits.length - 1);
    state.textContent = count
      ? `${count} circuits, ${now.nodes.length} nodes; up for ${age(now.uptime_s)}`
      : "The gate has no subscribers.";
  } catch (error) {
    state.className = "stale";
    state.textContent = `No answer: ${error instanceof Error ? error.message : error}. What is shown is old.`;
  }
  setTimeout(look, PERIOD);
}

order.addEventListener("change", showRows);
filter.addEventListener("input", showRows);
look();

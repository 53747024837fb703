// The series below the pictures: one chart over all lanes for the queue, and for every other
// measure a chart a lane, on one scale, so that lanes can be compared.

import { reasonText } from "./picture.js";
import { classColour, colour, laneColour, make, onColours, pattern, stroke } from "./style.js";
import * as units from "./units.js";

const HEIGHT = 132;
const MANY = 6;
const SMOOTHED = 50; // a rate is a mean over this part of the window

// The measures: how each is called, on its button too, its unit, the curves that a lane has, and
// how high the axis is at least.
const MEASURES = {
  delay: {
    title: "Delay by class",
    button: "Delay",
    unit: "ms, one way",
    show: units.milliseconds,
    curves: delays,
    least: 1,
  },
  queue: { title: "Queue", button: "Queue", unit: "packets", show: String, least: 4 },
  throughput: {
    title: "Throughput by flow",
    button: "Throughput",
    unit: "bit/s",
    show: units.rate,
    curves: throughputs,
    least: 1000,
  },
  drops: {
    title: "Drops and marks",
    button: "Drops",
    unit: "packets, since the beginning",
    show: String,
    curves: drops,
    least: 4,
  },
  cwnd: {
    title: "Congestion window by flow",
    button: "Windows",
    unit: "bytes",
    show: units.size,
    curves: windows,
    least: 1000,
  },
  variables: { title: "The discipline's own variables", button: "Variables", unit: "" },
};
export const NAMES = Object.keys(MEASURES);

function delays(stage, history) {
  return stage.classes
    .map(each => ({
      key: `delay${each.id}`,
      name: each.name,
      colour: classColour(each.id),
      dash: each.id,
      read: point => point.delay_ms[each.id] ?? null,
      gaps: true,
    }))
    .filter(curve => history.column(curve.key, curve.read).some(value => value !== null));
}

// Flow by flow where there are few, otherwise class by class.
function byFlow(stage, name, read, flows) {
  if (flows.length <= MANY) {
    return flows.map(each => ({
      key: `${name}${each.id}`,
      name: each.name,
      colour: classColour(each.class_id),
      dash: stage.flowPlace.get(each.id),
      read: point => read(point)[each.id] ?? null,
    }));
  }
  return stage.classes
    .filter(each => flows.some(flow => flow.class_id === each.id))
    .map(each => {
      const ids = flows.filter(flow => flow.class_id === each.id).map(flow => flow.id);
      const sum = point =>
        ids.reduce((total, id) => {
          const value = read(point)[id];
          return value === null || value === undefined ? total : (total ?? 0) + value;
        }, null);
      return {
        key: `${name}c${each.id}`,
        name: each.name,
        colour: classColour(each.id),
        dash: each.id,
        read: sum,
      };
    });
}

function throughputs(stage) {
  return byFlow(stage, "bps", point => point.bps, stage.flows).map(curve => ({
    ...curve,
    smooth: true,
  }));
}

function windows(stage) {
  const tcp = stage.flows.filter(flow => flow.transport === "tcp");
  return byFlow(stage, "cwnd", point => point.cwnd, tcp).map(curve => ({ ...curve, gaps: true }));
}

function drops(_stage, history) {
  const order = [
    "overflow",
    "aqm",
    "preempted",
    "policed",
    "pushed_out",
    "redundant_ack",
    "marked",
  ];
  return Object.keys(history.ended).map(reason => ({
    key: `ended-${reason}`,
    name: reason === "marked" ? "marked" : reasonText(reason),
    colour:
      reason === "marked" ? "--accent" : laneColour([8, 2, 4, 5, 7, 9][order.indexOf(reason)] ?? 0),
    dash: Math.max(0, order.indexOf(reason)),
    values: () => history.ended[reason],
  }));
}

export class Series {
  #host;
  #toggles;
  #stage = null;
  #lanes = [];
  #shown = new Set(["queue", "delay", "throughput", "drops"]);
  #boxes = [];
  #span = null;
  #seen = new Set();
  #sight = new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#seen.add(target.dataset.name);
      else this.#seen.delete(target.dataset.name);
    }
  });
  #speed = 1;

  constructor(host, toggles, window_) {
    this.#host = host;
    this.#toggles = toggles;
    window_.addEventListener("change", () => {
      this.#span =
        window_.value === "" ? null : Number(window_.value === "inf" ? Infinity : window_.value);
    });
    for (const name of NAMES) {
      const button = make("button", { type: "button", textContent: MEASURES[name].button });
      button.dataset.name = name;
      button.addEventListener("click", () => {
        if (!this.#shown.delete(name)) this.#shown.add(name);
        this.#build();
      });
      toggles.append(button);
    }
    onColours(() => this.#build());
    new ResizeObserver(() => this.#resize()).observe(host);
  }

  // Only these measures.
  show(names) {
    this.#shown = new Set(names);
    this.#build();
  }

  // Those that a story points to.
  look(names) {
    for (const section of this.#host.children) {
      section.classList.toggle("looked", names.includes(section.dataset.name));
    }
  }

  setStage(stage, lanes) {
    this.#stage = stage;
    this.#lanes = lanes;
    this.#build();
  }

  #build() {
    for (const box of this.#boxes) box.plot?.destroy();
    this.#boxes = [];
    for (const button of this.#toggles.children) {
      button.setAttribute("aria-pressed", String(this.#shown.has(button.dataset.name)));
    }
    if (!this.#stage) return;
    this.#host.replaceChildren(
      ...NAMES.filter(name => this.#shown.has(name)).map(name => this.#section(name)),
    );
    this.#sight.disconnect();
    this.#seen.clear();
    for (const section of this.#host.children) this.#sight.observe(section);
  }

  #section(name) {
    const { title, unit } = MEASURES[name];
    const head = make("h3", {}, title, unit ? make("small", {}, ` ${unit}`) : "");
    const section = make("section", { className: "measure", "aria-label": title }, head);
    section.dataset.name = name;
    if (name === "queue") {
      section.append(this.#card(name, null, "all disciplines"));
    } else {
      const columns = make("div", { className: "columns" });
      columns.append(
        ...this.#lanes.map(lane =>
          name === "variables" ? this.#variables(lane) : this.#card(name, lane, lane.label),
        ),
      );
      section.append(columns);
    }
    return section;
  }

  #card(name, lane, whose) {
    const values = make("div", { className: "values" });
    const area = make("div", {
      role: "img",
      "aria-label": `${MEASURES[name].title} of ${whose} over time`,
    });
    this.#boxes.push({ name, lane, values, area, plot: null, keys: "" });
    return make("div", { className: "card chart" }, values, area);
  }

  #variables(lane) {
    const list = make("div", { className: "card chart" });
    this.#boxes.push({ name: "variables", lane, list, rows: new Map() });
    return list;
  }

  #curves(box) {
    if (box.name !== "queue") return MEASURES[box.name].curves(this.#stage, box.lane.history);
    return this.#lanes.map(lane => ({
      key: `queue${lane.id}`,
      name: lane.label,
      colour: laneColour(lane.colour),
      dash: lane.colour,
      lane,
      read: point => point.packets,
      steps: true,
    }));
  }

  // Draw what the window shows at `nowS`, of the charts that are in sight.
  draw(nowS, speed) {
    this.#speed = speed ?? 10;
    const span =
      this.#span ?? Math.min(20, Math.max(12 * this.#speed, 4 * (this.#stage?.grain_s ?? 0.1)));
    const earliest = Math.min(...this.#lanes.map(lane => lane.history.first?.t ?? nowS));
    const from = Number.isFinite(span)
      ? Math.max(nowS - span, Math.min(0, nowS))
      : Math.min(earliest, nowS - 1e-3);
    const to = Number.isFinite(span) ? Math.max(nowS, from + span) : nowS;
    for (const name of this.#seen) {
      const boxes = this.#boxes.filter(box => box.name === name);
      if (name === "variables") {
        for (const box of boxes) this.#drawVariables(box, from, to);
        continue;
      }
      const found = boxes.map(box => this.#data(box, from, to));
      const top = Math.max(...found.map(each => each.top), MEASURES[name].least);
      for (const [place, box] of boxes.entries()) {
        this.#drawChart(box, found[place], from, to, top * 1.08);
      }
    }
  }

  #data(box, from, to) {
    const curves = this.#curves(box);
    const history = (box.lane ?? this.#lanes[0])?.history;
    if (!history) return { curves: [], columns: [[]], top: 0 };
    const times = history.times;
    const begin = Math.max(0, below(times, from) - 1);
    const end = Math.min(times.length, below(times, to) + 1);
    let top = 0;
    const columns = curves.map(curve => {
      const source = curve.lane ? curve.lane.history : history;
      const all = curve.values ? curve.values() : source.column(curve.key, curve.read);
      const part = curve.smooth
        ? means(
            source.sums(curve.key, curve.read),
            begin,
            end,
            (to - from) / SMOOTHED / this.#stage.grain_s,
          )
        : all.slice(begin, end);
      for (const value of part) if (value > top) top = value;
      return part;
    });
    return { curves, columns: [times.slice(begin, end), ...columns], top };
  }

  #drawChart(box, { curves, columns }, from, to, top) {
    const keys = curves.map(curve => curve.key + curve.name).join();
    if (keys !== box.keys) this.#make(box, curves, keys);
    if (!box.plot) return;
    box.plot.batch(() => {
      box.plot.setData(columns, false);
      box.plot.setScale("x", { min: from, max: to });
      box.plot.setScale("y", { min: 0, max: top });
    });
    const at = box.plot.cursor.idx ?? columns[0].length - 1;
    for (const [place, element] of box.texts.entries()) {
      const column = columns[place + 1];
      let back = at;
      while (back > Math.max(0, at - 20) && (column[back] ?? null) === null) back--;
      const value = column[back] ?? null;
      const words = value === null ? "–" : MEASURES[box.name].show(value);
      if (element.textContent !== words) element.textContent = words;
    }
  }

  #make(box, curves, keys) {
    box.plot?.destroy();
    box.plot = null;
    box.keys = keys;
    box.texts = curves.map(() => make("b", {}, "–"));
    box.values.replaceChildren(
      ...curves.map((curve, place) =>
        make("span", {}, stroke(curve.colour, curve.dash, 20), curve.name, box.texts[place]),
      ),
    );
    box.area.replaceChildren();
    if (!curves.length) {
      box.area.append(
        make("p", { className: "empty" }, box.name === "drops" ? "None so far" : "Nothing yet"),
      );
      return;
    }
    box.plot = new uPlot(this.#options(box, curves), [[], ...curves.map(() => [])], box.area);
  }

  #options(box, curves) {
    const axis = {
      stroke: colour("--quiet"),
      font: "11px system-ui, sans-serif",
      gap: 4,
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
    };
    return {
      width: Math.max(120, box.area.clientWidth),
      height: HEIGHT,
      padding: [6, 16, 0, 0],
      legend: { show: false },
      pxAlign: false,
      cursor: {
        y: false,
        drag: { setScale: false, x: false },
        sync: { key: "time" },
        points: { size: 6 },
      },
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      axes: [
        {
          ...axis,
          size: 24,
          space: 70,
          values: (_, splits) => splits.map(each => seconds(each, splits)),
        },
        {
          ...axis,
          size: 52,
          space: 28,
          values: (_, splits) => splits.map(each => short(each, box.name)),
        },
      ],
      series: [
        {},
        ...curves.map(curve => ({
          stroke: colour(curve.colour),
          width: 1.7,
          dash: pattern(curve.dash),
          spanGaps: Boolean(curve.gaps),
          points: { show: false },
          paths: curve.steps ? uPlot.paths.stepped({ align: -1 }) : undefined,
        })),
      ],
    };
  }

  #drawVariables(box, from, to) {
    const last = box.lane.history.last;
    const names = Object.keys(last?.variables ?? {});
    if (!names.length) {
      if (!box.list.firstChild) box.list.append(make("p", { className: "empty" }, "It has none"));
      return;
    }
    if (!box.rows.size) box.list.replaceChildren();
    for (const name of names) {
      if (!box.rows.has(name)) box.rows.set(name, sparkRow(box.list, name));
      const row = box.rows.get(name);
      const history = box.lane.history;
      const values = history.column(`variable ${name}`, point => point.variables[name] ?? null);
      spark(row.canvas, history.times, values, from, to, colour(laneColour(box.lane.colour)));
      const words = units.plain(last.variables[name]);
      if (row.value.textContent !== words) row.value.textContent = words;
    }
  }

  #resize() {
    for (const box of this.#boxes) {
      const width = box.area?.clientWidth;
      if (box.plot && width && Math.abs(width - box.plot.width) > 1) {
        box.plot.setSize({ width, height: box.plot.height });
      }
    }
  }
}

// Means over the last `number` points, by their sums.
function means(sums, begin, end, number) {
  const span = Math.max(1, Math.round(number));
  const found = [];
  for (let at = begin; at < end; at++) {
    const first = Math.max(0, at + 1 - span);
    found.push((sums[at + 1] - sums[first]) / (at + 1 - first));
  }
  return found;
}

// How many of ascending times are below one.
function below(times, limit) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function seconds(value, splits) {
  const step = splits.length > 1 ? splits[1] - splits[0] : 1;
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-4)
    digits++;
  return `${value.toFixed(digits)} s`;
}

function short(value, name) {
  if (value === 0) return "0";
  if (name === "throughput" || name === "cwnd") {
    const written = name === "cwnd" ? units.size(value) : units.rate(value);
    return written.replace(/bit\/s|B$/, "").replace(/\.0+ /, " ");
  }
  return String(Number(value.toPrecision(3)));
}

function sparkRow(list, name) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  canvas.style.width = "100%";
  canvas.style.height = "26px";
  const value = make("b");
  list.append(
    make(
      "div",
      { className: "variable" },
      make("span", {}, name.replaceAll("_", " ")),
      canvas,
      value,
    ),
  );
  return { canvas, value };
}

// A line without axes, over its own range.
function spark(canvas, times, values, from, to, ink) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width) return;
  const sharp = Math.min(2, devicePixelRatio || 1);
  if (canvas.width !== Math.round(width * sharp)) {
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  pen.clearRect(0, 0, width, height);
  const begin = Math.max(0, below(times, from) - 1);
  const end = Math.min(times.length, below(times, to) + 1);
  let [low, high] = [Infinity, -Infinity];
  for (let at = begin; at < end; at++) {
    if (values[at] === null) continue;
    low = Math.min(low, values[at]);
    high = Math.max(high, values[at]);
  }
  if (high < low) return;
  const tall = high - low || 1;
  pen.strokeStyle = ink;
  pen.lineWidth = 1.4;
  pen.beginPath();
  for (let at = begin; at < end; at++) {
    if (values[at] === null) continue;
    const x = ((times[at] - from) / (to - from)) * width;
    pen.lineTo(x, height - 4 - ((values[at] - low) / tall) * (height - 8));
  }
  pen.stroke();
}

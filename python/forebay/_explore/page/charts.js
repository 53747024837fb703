// A chart of the series, and the small lines of a discipline's own variables.

import { CHARTED } from "./measures.js";
import { colour, laneColour, make, pattern, stroke } from "./style.js";
import * as units from "./units.js";

/**
 * @import { Stage } from "./messages.js"
 * @import { Column } from "./history.js"
 * @import { ShownLane } from "./lanes.js"
 * @import { Curve } from "./measures.js"
 *
 * What a chart shows in a window.
 * @typedef {object} Shown
 * @property {Curve[]} curves
 * @property {number[]} times
 * @property {Column[]} columns a curve each
 * @property {number} top the largest value
 *
 * @typedef {(lane: number, atS: number) => void} Ask
 */

const HEIGHT = 132;
const SMOOTHED = 50; // a rate is a mean over this part of the window
const LOOK_BACK = 20; // points, for a value where the last one has none

/** A chart of one measure: of one lane, or of all. */
export class Chart {
  #measure;
  #lanes;
  #area;
  #values = make("div", { className: "values" });
  /** @type {HTMLElement[]} */
  #texts = [];
  #instant = make("small");
  /** @type {uPlot | null} */
  #plot = null;
  #drawn = "";

  #ask;

  /**
   * @param {keyof typeof CHARTED} measure
   * @param {string} title
   * @param {ShownLane[]} lanes
   * @param {Ask | null} ask called when an instant is clicked at which somebody may ask why
   */
  constructor(measure, title, lanes, ask) {
    this.#measure = CHARTED[measure];
    this.#lanes = lanes;
    this.#ask = ask;
    const whose = this.#measure.whole ? "all disciplines" : lanes[0].lane.label;
    const label = `${title} of ${whose} over time`;
    this.#area = make("div", { role: "img", "aria-label": label });
    this.card = make("div", { className: "card chart" }, this.#values, this.#area);
  }

  /**
   * @param {Stage} stage
   * @param {number} from of the window, in s
   * @param {number} to
   * @returns {Shown}
   */
  shown(stage, from, to) {
    const curves = this.#measure.curves(stage, this.#lanes);
    const times = this.#lanes[0].history.times;
    const [begin, end] = within(times, from, to);
    const points = (to - from) / SMOOTHED / stage.grain_s;
    const columns = curves.map(({ values, sums }) =>
      sums ? means(sums, begin, end, points) : values.slice(begin, end),
    );
    let top = 0;
    for (const column of columns) for (const value of column) top = Math.max(top, value ?? 0);
    return { curves, times: times.slice(begin, end), columns, top };
  }

  /**
   * @param {Shown} shown
   * @param {number} from of the window, in s
   * @param {number} to
   * @param {number} top of its axis
   */
  draw({ curves, times, columns }, from, to, top) {
    const drawn = curves.map(curve => `${curve.name} ${curve.colour} ${curve.dash}`).join();
    if (drawn !== this.#drawn || !this.#area.firstChild) this.#make(curves);
    this.#drawn = drawn;
    const plot = this.#plot;
    if (!plot) return;
    plot.batch(() => {
      plot.setData([times, ...columns], false);
      plot.setScale("x", { min: from, max: to });
      plot.setScale("y", { min: 0, max: top });
    });
    const at = plot.cursor.idx ?? times.length - 1;
    for (const [place, element] of this.#texts.entries()) {
      const recent = columns[place].slice(Math.max(0, at - LOOK_BACK), at + 1);
      const value = recent.findLast(each => each !== null) ?? null;
      const words = value === null ? "–" : this.#measure.show(value);
      if (element.textContent !== words) element.textContent = words;
    }
    const time = times[at];
    const instant = time === undefined ? "" : `at ${time.toFixed(3)} s`;
    if (this.#instant.textContent !== instant) this.#instant.textContent = instant;
  }

  resize() {
    const width = this.#area.clientWidth;
    if (this.#plot && width && Math.abs(width - this.#plot.width) > 1) {
      this.#plot.setSize({ width, height: HEIGHT });
    }
  }

  destroy() {
    this.#plot?.destroy();
  }

  /** @param {Curve[]} curves */
  #make(curves) {
    this.#plot?.destroy();
    this.#plot = null;
    this.#texts = curves.map(() => make("b", {}, "–"));
    const named = curves.map(({ name, colour, dash }, place) =>
      make("span", {}, stroke(colour, dash, 20), name, this.#texts[place]),
    );
    this.#values.replaceChildren(...named, this.#instant);
    this.#area.replaceChildren();
    if (curves.length) {
      const empty = /** @type {uPlot.AlignedData} */ ([[], ...curves.map(() => [])]);
      this.#plot = new uPlot(this.#options(curves), empty, this.#area);
      this.#listen(this.#plot);
    } else {
      const words = this.#measure === CHARTED.drops ? "None so far" : "Nothing yet";
      this.#area.append(make("p", { className: "empty" }, words));
    }
  }

  /** @param {uPlot} plot */
  #listen(plot) {
    const ask = this.#ask;
    if (!ask) return;
    plot.over.title = "Click: why?";
    plot.over.addEventListener("click", () => {
      const { left = -1, idx } = plot.cursor;
      if (left < 0 || idx === null || idx === undefined) return;
      // Of all lanes in one chart, that which has most there.
      const values = plot.data.slice(1).map(column => column[idx] ?? 0);
      const most = this.#measure.whole ? values.indexOf(Math.max(...values)) : 0;
      const { lane } = this.#lanes[most] ?? this.#lanes[0];
      ask(lane.id, plot.posToVal(left, "x"));
    });
  }

  /**
   * @param {Curve[]} curves
   * @returns {uPlot.Options}
   */
  #options(curves) {
    const axis = {
      stroke: colour("--quiet"),
      font: "11px system-ui, sans-serif",
      gap: 4,
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
    };
    return {
      width: Math.max(120, this.#area.clientWidth),
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
          values: (_, splits) => splits.map(each => instant(each, splits)),
        },
        {
          ...axis,
          size: 52,
          space: 28,
          values: (_, splits) => splits.map(each => short(each, this.#measure.show)),
        },
      ],
      series: [
        {},
        ...curves.map(curve => ({
          stroke: colour(curve.colour),
          width: 1.7,
          dash: pattern(curve.dash),
          spanGaps: curve.gaps ?? false,
          points: { show: false },
          paths: curve.steps ? uPlot.paths.stepped?.({ align: -1 }) : undefined,
        })),
      ],
    };
  }
}

/** The own variables of a lane's discipline: a line each, over its own range. */
export class Variables {
  #shown;
  /** @type {Map<string, { canvas: HTMLCanvasElement, value: HTMLElement }>} */
  #rows = new Map();

  /** @param {ShownLane} shown */
  constructor(shown) {
    this.#shown = shown;
    this.card = make("div", { className: "card chart" });
  }

  /**
   * @param {number} from of the window, in s
   * @param {number} to
   */
  draw(from, to) {
    const { history, lane } = this.#shown;
    const variables = Object.entries(history.last?.variables ?? {});
    if (!variables.length && !this.card.firstChild) {
      this.card.append(make("p", { className: "empty" }, "It has none"));
    }
    for (const [name, last] of variables) {
      const { canvas, value } = this.#rows.get(name) ?? this.#row(name);
      const values = history.column(`variable ${name}`, point => point.variables[name] ?? null);
      spark(canvas, history.times, values, from, to, colour(laneColour(lane.colour)));
      const words = units.plain(last);
      if (value.textContent !== words) value.textContent = words;
    }
  }

  /** @param {string} name */
  #row(name) {
    if (!this.#rows.size) this.card.replaceChildren();
    const canvas = make("canvas", { "aria-hidden": "true" });
    const value = make("b");
    const label = make("span", {}, name.replaceAll("_", " "));
    this.card.append(make("div", { className: "variable" }, label, canvas, value));
    const row = { canvas, value };
    this.#rows.set(name, row);
    return row;
  }
}

/**
 * The places of the first and beyond the last time of a window, and one more at both ends.
 * @param {number[]} times
 * @param {number} from
 * @param {number} to
 */
function within(times, from, to) {
  return [Math.max(0, below(times, from) - 1), Math.min(times.length, below(times, to) + 1)];
}

/**
 * How many of ascending times are below one.
 * @param {number[]} times
 * @param {number} limit
 */
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

/**
 * At each point, the mean over the last `number` points, by their sums.
 * @param {Column} sums
 * @param {number} begin
 * @param {number} end
 * @param {number} number
 * @returns {number[]}
 */
function means(sums, begin, end, number) {
  const span = Math.max(1, Math.round(number));
  const found = [];
  for (let at = begin; at < end; at++) {
    const first = Math.max(0, at + 1 - span);
    found.push(((sums[at + 1] ?? 0) - (sums[first] ?? 0)) / (at + 1 - first));
  }
  return found;
}

/**
 * An instant on the axis, with as many digits as tell it from the next.
 * @param {number} value
 * @param {number[]} splits
 */
function instant(value, splits) {
  const step = splits.length > 1 ? splits[1] - splits[0] : 1;
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-4) {
    digits++;
  }
  return `${value.toFixed(digits)} s`;
}

/**
 * @param {number} value
 * @param {(value: number) => string} show
 */
function short(value, show) {
  if (value === 0) return "0";
  if (show !== units.size && show !== units.rate) return String(Number(value.toPrecision(3)));
  return show(value)
    .replace(/bit\/s|B$/, "")
    .replace(/\.0+ /, " ");
}

/**
 * A line without axes, over its own range.
 * @param {HTMLCanvasElement} canvas
 * @param {number[]} times
 * @param {Column} values
 * @param {number} from
 * @param {number} to
 * @param {string} ink
 */
function spark(canvas, times, values, from, to, ink) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const pen = canvas.getContext("2d");
  if (!width || !pen) return;
  const sharp = Math.min(2, devicePixelRatio || 1);
  if (canvas.width !== Math.round(width * sharp)) {
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
  }
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  pen.clearRect(0, 0, width, height);
  /** @type {[time: number, value: number][]} */
  const points = [];
  const [begin, end] = within(times, from, to);
  for (let at = begin; at < end; at++) {
    const value = values[at];
    if (value !== null) points.push([times[at], value]);
  }
  const low = Math.min(...points.map(([, value]) => value));
  const high = Math.max(...points.map(([, value]) => value));
  const tall = high - low || 1;
  pen.strokeStyle = ink;
  pen.lineWidth = 1.4;
  pen.beginPath();
  for (const [time, value] of points) {
    const x = ((time - from) / (to - from)) * width;
    pen.lineTo(x, height - 4 - ((value - low) / tall) * (height - 8));
  }
  pen.stroke();
}

// What the series show: the curves of each measure.

import { classColour, flowPlaces, laneColour } from "./style.js";
import * as units from "./units.js";

/**
 * @import { Flow, Measure, Point, Stage } from "./messages.js"
 * @import { Column, History } from "./history.js"
 * @import { ShownLane } from "./lanes.js"
 *
 * A curve, and how it is drawn.
 * @typedef {object} Curve
 * @property {string} name
 * @property {string} colour
 * @property {number} dash pattern of its line
 * @property {Column} values
 * @property {Column} [sums] of the values; a mean over a part of the window is drawn
 * @property {boolean} [gaps] points without a value are passed over
 * @property {boolean} [steps] a value holds until the next point
 *
 * A measure that has charts.
 * @typedef {object} Charted
 * @property {(stage: Stage) => string} title
 * @property {string} button
 * @property {string} unit
 * @property {(value: number) => string} show
 * @property {number} least how high the axis is at least
 * @property {boolean} [whole] one chart has the curves of all lanes
 * @property {(stage: Stage, lanes: ShownLane[]) => Curve[]} curves of the lanes of a chart
 */

const MANY = 6; // with more flows than these, classes are shown
const REASONS = ["overflow", "aqm", "preempted", "policed", "pushed_out", "redundant_ack"];
const REASON_COLOURS = [8, 2, 4, 5, 7, 9];

/** @type {Record<Exclude<Measure, "variables">, Charted>} */
export const CHARTED = {
  delay: {
    title: () => "Delay by class",
    button: "Delay",
    unit: "ms, one way",
    show: units.milliseconds,
    least: 1,
    curves: (stage, [{ history }]) => delays(stage, history),
  },
  queue: {
    title: () => "Queue",
    button: "Queue",
    unit: "packets",
    show: String,
    least: 4,
    whole: true,
    curves: (_stage, lanes) => lanes.map(queue),
  },
  throughput: {
    title: stage => `Throughput by ${unitOf(stage.flows)}`,
    button: "Throughput",
    unit: "bit/s, both directions",
    show: units.rate,
    least: 1000,
    curves: (stage, [{ history }]) =>
      byFlow(stage, stage.flows, "bps", history).map(({ key, ...curve }) => ({
        ...curve,
        sums: history.sums(key, curve.read),
      })),
  },
  drops: {
    title: () => "Drops and marks",
    button: "Drops",
    unit: "packets, since the beginning",
    show: String,
    least: 4,
    curves: (_stage, [{ history }]) => drops(history),
  },
  cwnd: {
    title: stage => `Congestion window by ${unitOf(ofTcp(stage))}`,
    button: "Windows",
    unit: "bytes",
    show: units.size,
    least: 1000,
    curves: (stage, [{ history }]) =>
      byFlow(stage, ofTcp(stage), "cwnd", history).map(curve => ({ ...curve, gaps: true })),
  },
};

/** @param {Stage} stage */
const ofTcp = ({ flows }) => flows.filter(flow => flow.transport === "tcp");

/**
 * What has a curve: each flow where there are few, otherwise each class.
 * @param {Flow[]} flows
 */
const unitOf = flows => (flows.length <= MANY ? "flow" : "class");

/**
 * @param {Stage} stage
 * @param {History} history
 * @returns {Curve[]}
 */
function delays(stage, history) {
  return stage.classes
    .map(({ id, name }) => ({
      name,
      colour: classColour(id),
      dash: id,
      values: history.column(`delay${id}`, point => point.delay_ms[id] ?? null),
      gaps: true,
    }))
    .filter(curve => curve.values.some(value => value !== null));
}

/**
 * @param {ShownLane} shown
 * @returns {Curve}
 */
const queue = ({ lane, history }) => ({
  name: lane.label,
  colour: laneColour(lane.colour),
  dash: lane.colour,
  values: history.column("queue", point => point.packets),
  steps: true,
});

/**
 * @param {Stage} stage
 * @param {Flow[]} flows
 * @param {"bps" | "cwnd"} of
 * @param {History} history
 */
function byFlow(stage, flows, of, history) {
  const places = flowPlaces(stage.flows);
  const groups =
    unitOf(flows) === "flow"
      ? flows.map(flow => ({ ...flow, dash: places.get(flow.id) ?? 0, ids: [flow.id] }))
      : stage.classes.map(({ id, name }) => {
          const ids = flows.filter(flow => flow.class_id === id).map(flow => flow.id);
          return { name, class_id: id, dash: id, ids };
        });
  return groups
    .filter(({ ids }) => ids.length)
    .map(({ name, class_id, dash, ids }) => {
      const key = `${of} ${ids.join()}`;
      /** @param {Point} point */
      const read = point => sum(ids.map(id => point[of][id] ?? null));
      const values = history.column(key, read);
      return { key, read, name, colour: classColour(class_id), dash, values };
    });
}

/**
 * Of those that have a value; null if none has.
 * @param {(number | null)[]} values
 * @returns {number | null}
 */
const sum = values =>
  values.reduce((total, value) => (value === null ? total : (total ?? 0) + value), null);

/**
 * @param {History} history
 * @returns {Curve[]}
 */
function drops(history) {
  return Object.entries(history.ended).map(([reason, values]) => {
    const place = REASONS.indexOf(reason);
    return reason === "marked"
      ? { name: reason, colour: "--accent", dash: REASONS.length, values }
      : {
          name: units.reasonText(reason),
          colour: laneColour(REASON_COLOURS[place] ?? 0),
          dash: Math.max(0, place),
          values,
        };
  });
}

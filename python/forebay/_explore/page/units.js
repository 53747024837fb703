// Numbers and reasons as people read them.

/** @type {[number, string][]} */
const PREFIXES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

/**
 * With three significant digits, or all those before the point.
 * @param {number} value
 */
function three(value) {
  if (value === 0) return "0";
  const digits = Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toFixed(digits);
}

/**
 * @param {number} value
 * @param {string} unit
 */
function prefixed(value, unit) {
  const [scale, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  return `${three(value / scale)} ${prefix}${unit}`;
}

/** @param {number} bps bits per second */
export const rate = bps => prefixed(bps, "bit/s");

/** @param {number} bytes */
export const size = bytes => prefixed(bytes, "B");

/** @param {number} value */
export const plain = value =>
  Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(2)
    : three(value);

/** @param {number} seconds */
export function time(seconds) {
  const length = Math.abs(seconds);
  if (length === 0 || length >= 1) return `${three(seconds)} s`;
  if (length >= 1e-3) return `${three(seconds * 1e3)} ms`;
  return `${three(seconds * 1e6)} µs`;
}

/** @param {number} value in milliseconds */
export const milliseconds = value =>
  value >= 1000 ? `${three(value / 1000)} s` : `${three(value)} ms`;

/**
 * @param {number} number
 * @param {string} what one of them
 */
export const count = (number, what) =>
  `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

/**
 * An instant. While it plays, digits that change too fast to be read are left out.
 * @param {number} seconds
 * @param {number | null} speed simulated seconds a second; null: as fast as it goes
 * @param {boolean} playing
 */
export function clock(seconds, speed, playing) {
  const factor = playing ? (speed ?? Infinity) : 0;
  return seconds.toFixed(factor < 0.02 ? 6 : factor < 0.5 ? 4 : 3);
}

// The slider for the speed has ten steps a decade, from 1/1000. Its last step is "as fast as it goes".
const SLOWEST = -30;
const FASTEST = 21;

/** @param {number} step */
export const speedOf = step => (step >= FASTEST ? null : 10 ** (step / 10));

/** @param {number | null} factor */
export const stepOf = factor =>
  factor === null
    ? FASTEST
    : Math.max(SLOWEST, Math.min(FASTEST - 1, Math.round(10 * Math.log10(factor))));

/** @param {number | null} factor */
export function speedText(factor) {
  if (factor === null) return "as fast as it goes";
  if (Math.abs(factor - 1) < 0.01) return "real time";
  if (factor > 1) return `${three(factor)} × faster`;
  const slower = 1 / factor;
  return `${slower >= 10 ? Math.round(slower) : three(slower)} × slower`;
}

/** @type {Record<string, string>} */
const REASONS = {
  overflow: "no room",
  aqm: "by the rule",
  preempted: "for precedence",
  policed: "policed",
  pushed_out: "pushed out",
  redundant_ack: "redundant",
};

/** @param {string} reason why a packet was dropped, as a point of the series has it */
export const reasonText = reason => REASONS[reason] ?? reason;

// Numbers as people read them.

const PREFIXES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

function three(value) {
  if (value === 0) return "0";
  const digits = Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toFixed(digits);
}

function prefixed(value, unit) {
  const [scale, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? PREFIXES[3];
  return `${three(value / scale)} ${prefix}${unit}`;
}

export const rate = bps => prefixed(bps, "bit/s");
export const size = bytes => prefixed(bytes, "B");
export const plain = value =>
  Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(2)
    : three(value);

export function time(seconds) {
  const length = Math.abs(seconds);
  if (length === 0 || length >= 1) return `${three(seconds)} s`;
  if (length >= 1e-3) return `${three(seconds * 1e3)} ms`;
  return `${three(seconds * 1e6)} µs`;
}

export const milliseconds = value =>
  value >= 1000 ? `${three(value / 1000)} s` : `${three(value)} ms`;
export const count = (number, what) =>
  `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

// The instant, with as many digits as the speed lets one read; all of them while it stands.
export function clock(seconds, speed, playing) {
  const digits = !playing
    ? 6
    : speed !== null && speed < 0.02
      ? 6
      : speed !== null && speed < 0.5
        ? 4
        : 3;
  return seconds.toFixed(digits);
}

// Speeds from 1/1000 on, ten steps a decade; beyond the last one as fast as it goes.
export const FASTEST = 21;
export const speedOf = step => (step >= FASTEST ? null : 10 ** (step / 10));
export const stepOf = factor =>
  factor === null
    ? FASTEST
    : Math.max(-30, Math.min(FASTEST - 1, Math.round(10 * Math.log10(factor))));

export function speedText(factor) {
  if (factor === null) return "as fast as it goes";
  if (Math.abs(factor - 1) < 0.01) return "real time";
  if (factor > 1) return `${three(factor)} × faster`;
  const slower = 1 / factor;
  return `${slower >= 10 ? Math.round(slower) : three(slower)} × slower`;
}

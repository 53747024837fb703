// Colours of the style sheet for canvases, line patterns, and the switch between light and dark.

/** @import { Flow } from "./messages.js" */

// A pattern tells lines apart without colour, as in reports.
const PATTERNS = [[], [6, 3], [1.5, 3], [6, 3, 1.5, 3], [10, 4]];

/** @param {number} index */
export const pattern = index => PATTERNS[(index + Math.floor(index / 10)) % PATTERNS.length];

/** @param {number} index */
export const laneColour = index => `--d${index % 10}`;

/** @param {number} index */
export const classColour = index => `--c${index % 8}`;

const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);
/** @type {Map<string, string>} */
const known = new Map();
/** @type {(() => void)[]} */
const listeners = [];

/**
 * The colour that a variable of the style sheet now has, as rgb().
 * @param {string} name
 */
export function colour(name) {
  let found = known.get(name);
  if (found === undefined) {
    probe.style.color = `var(${name})`;
    found = getComputedStyle(probe).color;
    known.set(name, found);
  }
  return found;
}

const SHADES = [0, 0.24, -0.22, 0.42, -0.36]; // towards white, or black

/**
 * Flows of a class have its colour in several shades.
 * @param {number} id of the class
 * @param {number} place of the flow among those of its class
 */
export function flowColour(id, place) {
  const name = classColour(id);
  const shade = SHADES[place % SHADES.length];
  const key = `${name} ${shade}`;
  let found = known.get(key);
  if (found === undefined) {
    const parts =
      colour(name)
        .match(/[\d.]+/g)
        ?.slice(0, 3) ?? [];
    const mixed = parts.map(part => {
      const target = shade > 0 ? 255 : 0;
      return Math.round(Number(part) + (target - Number(part)) * Math.abs(shade));
    });
    found = `rgb(${mixed.join(" ")})`;
    known.set(key, found);
  }
  return found;
}

/**
 * The place of each flow among those of its class.
 * @param {Flow[]} flows
 */
export function flowPlaces(flows) {
  /** @type {Map<number, number>} */
  const seen = new Map();
  return new Map(
    flows.map(({ id, class_id }) => {
      const place = seen.get(class_id) ?? 0;
      seen.set(class_id, place + 1);
      return [id, place];
    }),
  );
}

/** @param {() => void} listener is called whenever colours have changed */
export const onColours = listener => listeners.push(listener);

/** Forget the colours that were read: others hold now. */
export function recolour() {
  known.clear();
  for (const listener of listeners) listener();
}

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", recolour);
const stored = () => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
};

export function applyTheme() {
  const theme = stored();
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  recolour();
}

/** Between light and dark. A choice that is the system's own is not stored. */
export function switchTheme() {
  const now = stored() ?? (dark.matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  try {
    if ((next === "dark") === dark.matches) localStorage.removeItem("theme");
    else localStorage.setItem("theme", next);
  } catch {
    document.documentElement.dataset.theme = next;
  }
  applyTheme();
}

/**
 * A short line in a colour and pattern, for headings and values.
 * @param {string} colourName
 * @param {number} index of the pattern
 */
export function stroke(colourName, index, width = 24) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("viewBox", `0 0 ${width} 8`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const ends = { x1: 0, x2: width, y1: 4, y2: 4, "stroke-width": 2.5 };
  for (const [key, value] of Object.entries(ends)) line.setAttribute(key, String(value));
  line.setAttribute("stroke-dasharray", pattern(index).join(" "));
  line.style.stroke = `var(${colourName})`;
  svg.append(line);
  return svg;
}

/**
 * Properties of an element, and attributes: keys with a dash, `role` and `for`.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @typedef {Partial<HTMLElementTagNameMap[Tag]>
 *   & { [attribute: `${string}-${string}`]: string, role?: string, for?: string }} Properties
 */

/**
 * An element with properties and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties<Tag>} [properties]
 * @param {...(Node | string)} children
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "for")
      element.setAttribute(key, String(value));
    else Object.assign(element, { [key]: value });
  }
  element.append(...children);
  return element;
}

/**
 * A button that does something.
 * @param {string} label
 * @param {() => void} act
 * @param {Properties<"button">} [properties]
 */
export function button(label, act, properties = {}) {
  const made = make("button", { type: "button", ...properties }, label);
  made.addEventListener("click", act);
  return made;
}

/**
 * An element of the page that is always there.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
export function part(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} "${id}"`);
  return found;
}

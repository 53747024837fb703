// Colours of the style sheet for canvases, line patterns, and the switch between light and dark.

// A pattern tells lines apart without colour, as in reports.
const PATTERNS = [[], [6, 3], [1.5, 3], [6, 3, 1.5, 3], [10, 4]];
export const pattern = index => PATTERNS[(index + Math.floor(index / 10)) % PATTERNS.length];
export const laneColour = index => `--d${index % 10}`;
export const classColour = index => `--c${index % 8}`;

const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);
const known = new Map();
const listeners = [];

// The colour that a variable of the style sheet now has, as rgb().
export function colour(name) {
  if (!known.has(name)) {
    probe.style.color = `var(${name})`;
    known.set(name, getComputedStyle(probe).color);
  }
  return known.get(name);
}

export const onColours = listener => listeners.push(listener);

function changed() {
  known.clear();
  for (const listener of listeners) listener();
}

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", changed);
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
  changed();
}

// Between light and dark; what the system says is forgotten when it is the same.
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

// A short line in a colour and pattern, for headings and values.
export function stroke(colourName, index, width = 24) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("viewBox", `0 0 ${width} 8`);
  const line = document.createElementNS(svg.namespaceURI, "line");
  for (const [key, value] of Object.entries({
    x1: 0,
    x2: width,
    y1: 4,
    y2: 4,
    "stroke-width": 2.5,
  })) {
    line.setAttribute(key, value);
  }
  line.setAttribute("stroke-dasharray", pattern(index).join(" "));
  line.style.stroke = `var(${colourName})`;
  svg.append(line);
  return svg;
}

// An element with properties, attributes (keys with a dash, role, for) and children.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

// The page of a report: its charts, what is told of a point, and what is hidden and chosen.

/**
 * What `Charts` in html.py writes: specifications of Vega-Lite and columns, each once, and panels
 * that name them by their places.
 * @typedef {object} Data
 * @property {object} config
 * @property {Spec[]} specs
 * @property {Value[][]} columns
 * @property {Panel[]} panels
 *
 * @typedef {number | string | null} Value
 * @typedef {{ layer: { encoding: Record<string, Encoding | undefined> }[] }} Spec
 * @typedef {{ title?: string, scale?: { domain?: string[] } | null }} Encoding
 *
 * Rows of a panel: what is the same in all of them, and the columns of the rest.
 * @typedef {[same: Row, columns: Record<string, number>]} Block
 *
 * `x` and `y`, to `x2` and `y2`; `s` the variant, `l` and `h` its interval; "told ..." what is told.
 * @typedef {Record<string, Value | undefined>} Row
 *
 * @typedef {object} Panel
 * @property {number} spec
 * @property {Record<string, Block[]>} data
 * @property {string} title
 * @property {string} kind
 * @property {string} of the variant of a map
 */

/** @param {string} id */
const textOf = id => document.getElementById(id)?.textContent ?? "";

/** @type {Data} */
const data = JSON.parse(textOf("data"));
const packed = Uint8Array.from(atob(textOf("library")), letter => letter.charCodeAt(0));
const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const library = document.createElement("script");
library.textContent = await new Response(plain).text();
document.head.append(library);

const NEAR = 60; // pixels between the pointer and a point of which it tells
/** The data that have points of which the pointer tells. */
const POINTED = [
  ...["line", "curve", "steps", "bars", "points"],
  ...["stated", "middle", "ways", "segments", "places"],
];
const OPTIONS = {
  mode: "vega-lite",
  config: data.config,
  renderer: "svg",
  actions: false,
  hover: false,
  tooltip: false,
  defaultStyle: false,
  logLevel: 1,
};

/** Variants that are not shown. */
const hidden = new Set();
/**
 * By the element that a chart is in; null: it is being drawn.
 * @type {Map<HTMLElement, VegaView | null>}
 */
const views = new Map();

/**
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {ParentNode} parent
 * @param {string} selector
 * @returns {Kind[]}
 */
const every = (parent, selector) =>
  [...parent.querySelectorAll(selector)].map(each => /** @type {Kind} */ (each));

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} fields
 * @param {...Node} children
 */
function make(tag, fields, ...children) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children);
  return element;
}

/** @param {Value | undefined} value */
const written = value =>
  typeof value === "number"
    ? value.toLocaleString("en", { maximumSignificantDigits: 4 })
    : (value ?? "–");

/**
 * @param {Block} block
 * @returns {Row[]}
 */
function rowsOf([same, places]) {
  const columns = Object.entries(places).map(([name, place]) => ({
    name,
    values: data.columns[place],
  }));
  return columns[0].values.map((_, at) => ({
    ...same,
    ...Object.fromEntries(columns.map(({ name, values }) => [name, values[at]])),
  }));
}

/** @param {HTMLElement} element */
const panelOf = element => data.panels[Number(element.dataset.panel)];

/**
 * The variants that a chart shows.
 * @param {Spec} spec
 */
function shownOf(spec) {
  const labels = spec.layer.flatMap(({ encoding }) =>
    [encoding.color, encoding.stroke].flatMap(each => each?.scale?.domain ?? []),
  );
  return [...new Set(labels)].filter(label => !hidden.has(label));
}

/** @param {HTMLElement} element */
async function draw(element) {
  if (views.has(element)) return;
  const panel = panelOf(element);
  const spec = data.specs[panel.spec];
  const datasets = Object.fromEntries(
    Object.entries(panel.data).map(([name, blocks]) => [name, blocks.flatMap(rowsOf)]),
  );
  const whole = {
    ...spec,
    datasets,
    width: "container",
    height: "container",
    autosize: { type: "fit", contains: "padding" },
    padding: 10,
    params: [{ name: "shown", value: shownOf(spec) }],
  };
  views.set(element, null);
  // Vega names the element that it draws into itself.
  const inner = make("div", { ariaHidden: "true" });
  element.append(inner);
  const { view } = await vegaEmbed(inner, whole, OPTIONS);
  views.set(element, view);
  const points = POINTED.flatMap(name => datasets[name] ?? []);
  hover(element, view, points, spec.layer.at(-1)?.encoding.x?.title ?? "");
}

const tip = make("div", { className: "tip", hidden: true });
document.body.append(tip);

/**
 * Tell of the point next to the pointer, and of others at the same place of a curve.
 * @param {HTMLElement} element
 * @param {VegaView} view
 * @param {Row[]} points
 * @param {string} title of the axis x
 */
function hover(element, view, points, title) {
  /**
   * Where a point is on an axis, in pixels.
   * @param {Row} point
   * @param {"x" | "y"} axis
   */
  function place(point, axis) {
    const scale = view.scale(axis);
    const [near, far] = [point[axis], point[`${axis}2`]];
    const value = far === undefined ? near : (Number(near) + Number(far)) / 2;
    return scale(value) + (scale.bandwidth?.() ?? 0) / 2;
  }

  /** @param {PointerEvent} event */
  function nearest({ clientX, clientY }) {
    const box = element.querySelector("svg")?.getBoundingClientRect();
    const [left, top] = view.origin();
    let least = NEAR;
    let found = null;
    for (const point of points) {
      if (!box || point.y === null || hidden.has(point.s)) continue;
      const dx = place(point, "x") - (clientX - box.left - left);
      const dy = place(point, "y") - (clientY - box.top - top);
      const far = Math.hypot(dx, dy);
      if (far >= least) continue;
      least = far;
      found = point;
    }
    return found;
  }

  /** @param {Row} point */
  function lines(point) {
    const told = Object.keys(point).filter(name => name.startsWith("told "));
    if (told.length) {
      return told.map(name => [name.slice(5), written(point[name])].filter(Boolean).join(": "));
    }
    const same = points
      .filter(({ x, y, s }) => x === point.x && y !== null && s !== undefined && !hidden.has(s))
      .sort((a, b) => Number(b.y) - Number(a.y));
    return [
      `${title}: ${written(point.x)}`,
      ...same.map(({ s, y, l, h }) => {
        const ends = (l ?? null) === null ? "" : ` (${written(l)} to ${written(h)})`;
        return `${s}: ${written(y)}${ends}`;
      }),
    ];
  }

  element.addEventListener("pointermove", event => {
    const point = nearest(event);
    tip.hidden = !point;
    if (!point) return;
    tip.replaceChildren(...lines(point).map(text => make("div", { textContent: text })));
    const { width, height } = tip.getBoundingClientRect();
    const { clientX: x, clientY: y } = event;
    const left = Math.min(x + 14, innerWidth - width - 8);
    const top = y + 18 + height > innerHeight ? y - height - 12 : y + 18;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  });
  element.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
}

// A page may have hundreds of charts: those near the window come first, the others when there is time.
const near = new IntersectionObserver(
  entries => {
    for (const { isIntersecting, target } of entries) {
      const element = /** @type {HTMLElement} */ (target);
      if (isIntersecting) draw(element);
      else if (!element.isConnected) forget(element);
    }
  },
  { rootMargin: "800px" },
);
const idle = window.requestIdleCallback ?? (work => setTimeout(work, 50));

function rest() {
  const next = every(document, ".figure").find(each => !views.has(each) && each.offsetParent);
  if (next) draw(next).then(() => idle(rest));
}

/** @param {HTMLElement} element */
function forget(element) {
  near.unobserve(element);
  views.get(element)?.finalize();
  views.delete(element);
}

/**
 * Put the charts of a part of the page into their places.
 * @param {ParentNode} parent
 */
function fill(parent) {
  for (const grid of every(parent, "[data-panels]")) {
    const panels = grid.dataset.panels?.split(" ").filter(Boolean) ?? [];
    grid.classList.toggle("one", panels.length === 1);
    for (const at of panels) {
      const { title, kind, of } = data.panels[Number(at)];
      const element = make("div", {
        className: `figure ${kind}`,
        role: "img",
        ariaLabel: [grid.dataset.words, title].filter(Boolean).join(", "),
      });
      element.dataset.panel = at;
      const caption = title ? [make("figcaption", { textContent: title })] : [];
      const figure = make("figure", {}, ...caption, element);
      if (of) figure.dataset.map = of;
      grid.append(figure);
      near.observe(element);
    }
  }
}

/**
 * What a choice shows is one of its templates: that whose key has the values of its selects.
 * @param {HTMLElement} choice
 */
function choose(choice) {
  for (const old of every(choice, ":scope > :not(template)")) {
    for (const figure of every(old, ".figure")) forget(figure);
    old.remove();
  }
  const values = selectsOf(choice).map(id => {
    const select = /** @type {HTMLSelectElement | null} */ (document.getElementById(id));
    return select?.value;
  });
  /** @type {HTMLTemplateElement[]} */
  const templates = every(choice, ":scope > template");
  const chosen = templates.find(each => each.dataset.key === values.join(" ")) ?? templates.at(-1);
  if (!chosen) return;
  const part = make("div", {}, chosen.content.cloneNode(true));
  choice.append(part);
  fill(part);
  idle(rest);
}

/** @param {HTMLElement} choice */
const selectsOf = choice => choice.dataset.of?.split(" ") ?? [];
const choices = every(document, "[data-of]:not(td)");
for (const select of document.querySelectorAll("select")) {
  select.addEventListener("change", () => {
    for (const each of choices) if (selectsOf(each).includes(select.id)) choose(each);
  });
}

const buttons = every(document, ".legend button");

function update() {
  for (const button of buttons) {
    button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.label)));
  }
  for (const [element, view] of views) {
    view?.signal("shown", shownOf(data.specs[panelOf(element).spec])).runAsync();
  }
  for (const map of every(document, "[data-map]")) map.hidden = hidden.has(map.dataset.map);
}

for (const button of buttons) {
  const { label } = button.dataset;
  button.addEventListener("click", () => {
    if (!hidden.delete(label)) hidden.add(label);
    update();
  });
  button.addEventListener("dblclick", () => {
    for (const other of buttons) hidden.add(other.dataset.label);
    hidden.delete(label);
    update();
  });
}

fill(document);
for (const each of choices) choose(each);
idle(rest);

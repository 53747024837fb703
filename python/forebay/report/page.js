const data = JSON.parse(document.getElementById("data").textContent);
const packed = Uint8Array.from(atob(document.getElementById("library").textContent), c =>
  c.charCodeAt(0),
);
const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const library = document.createElement("script");
library.textContent = await new Response(plain).text();
document.head.append(library);

const buttons = [...document.querySelectorAll(".legend button")];
const options = {
  mode: "vega-lite",
  config: data.config,
  renderer: "svg",
  actions: false,
  hover: false,
  tooltip: false,
  defaultStyle: false,
  logLevel: 1,
};
const hidden = new Set();
const views = new Map();
const make = (tag, fields, ...children) => {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children);
  return element;
};
const number = value =>
  typeof value !== "number"
    ? (value ?? "–")
    : value.toLocaleString("en", { maximumSignificantDigits: 4 });

const column = (columns, name) => data.columns[columns[name]];
function rowsOf([same, columns]) {
  const names = Object.keys(columns);
  return column(columns, names[0]).map((_, at) => ({
    ...same,
    ...Object.fromEntries(names.map(name => [name, column(columns, name)[at]])),
  }));
}
const labelsOf = spec => [
  ...new Set(
    spec.layer.flatMap(layer =>
      ["color", "stroke"].flatMap(of => layer.encoding[of]?.scale?.domain ?? []),
    ),
  ),
];
const shownOf = spec => labelsOf(spec).filter(label => !hidden.has(label));

async function draw(element) {
  if (views.has(element)) return;
  const panel = data.panels[element.dataset.panel],
    spec = data.specs[panel.spec];
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
  const { view } = await vegaEmbed(inner, whole, options);
  views.set(element, view);
  hover(element, view, spec, datasets);
}

// What is told of the point next to the pointer, and of others at the same place of a curve.
const tip = make("div", { className: "tip", hidden: true });
document.body.append(tip);
const pointed = [
  "line",
  "curve",
  "steps",
  "bars",
  "points",
  "stated",
  "middle",
  "ways",
  "segments",
  "places",
];
function hover(element, view, spec, datasets) {
  const points = pointed.flatMap(name => datasets[name] ?? []);
  const titles = spec.layer.at(-1).encoding;
  function place(point, axis) {
    const scale = view.scale(axis),
      far = point[`${axis}2`];
    const value = far === undefined ? point[axis] : (point[axis] + far) / 2;
    return scale(value) + (scale.bandwidth?.() ?? 0) / 2;
  }
  function nearest(event) {
    const box = element.querySelector("svg").getBoundingClientRect(),
      [left, top] = view.origin();
    const x = event.clientX - box.left - left,
      y = event.clientY - box.top - top;
    const away = point => Math.hypot(place(point, "x") - x, place(point, "y") - y);
    const seen = points
      .filter(point => point.y !== null && !hidden.has(point.s))
      .map(point => [away(point), point]);
    const [far, first] = seen.reduce((best, each) => (each[0] < best[0] ? each : best), [60]);
    return first && far < 60
      ? [
          first,
          seen
            .map(([, point]) => point)
            .filter(point => point.x === first.x && point.s !== undefined),
        ]
      : [];
  }
  function lines(first, same) {
    const told = Object.keys(first).filter(name => name.startsWith("told "));
    if (told.length)
      return told.map(name => [name.slice(5), number(first[name])].filter(Boolean).join(": "));
    const ends = point =>
      point.l === undefined || point.l === null
        ? ""
        : ` (${number(point.l)} to ${number(point.h)})`;
    const each = same
      .sort((a, b) => b.y - a.y)
      .map(point => `${point.s}: ${number(point.y)}${ends(point)}`);
    return [`${titles.x.title}: ${number(first.x)}`, ...each];
  }
  element.addEventListener("pointermove", event => {
    const [first, same] = nearest(event);
    tip.hidden = !first;
    if (!first) return;
    tip.replaceChildren(...lines(first, same).map(text => make("div", { textContent: text })));
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${Math.max(4, event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18)}px`;
  });
  element.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
}

// A page may have hundreds of charts: those near the window come first, the others when there is time.
const near = new IntersectionObserver(
  entries => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) draw(target);
      else if (!target.isConnected) forget(target);
    }
  },
  { rootMargin: "800px" },
);
const idle = window.requestIdleCallback ?? (work => setTimeout(work, 50));
function rest() {
  const next = [...document.querySelectorAll(".figure")].find(
    each => !views.has(each) && each.offsetParent,
  );
  if (next) draw(next).then(() => idle(rest));
}
function forget(element) {
  near.unobserve(element);
  views.get(element)?.finalize();
  views.delete(element);
}
function fill(parent) {
  for (const grid of parent.querySelectorAll("[data-panels]")) {
    const panels = grid.dataset.panels.split(" ").filter(Boolean);
    grid.classList.toggle("one", panels.length === 1);
    for (const at of panels) {
      const { title, kind, of } = data.panels[at];
      const element = make("div", {
        className: `figure ${kind}`,
        role: "img",
        ariaLabel: [grid.dataset.words, title].filter(Boolean).join(", "),
      });
      element.dataset.panel = at;
      const figure = make(
        "figure",
        {},
        ...(title ? [make("figcaption", { textContent: title })] : []),
        element,
      );
      if (of) figure.dataset.map = of;
      grid.append(figure);
      near.observe(element);
    }
  }
}

const choices = [...document.querySelectorAll("[data-of]:not(td)")];
function choose(parent) {
  const key = parent.dataset.of
    .split(" ")
    .map(id => document.getElementById(id).value)
    .join(" ");
  const parts = [...parent.children].filter(each => each.tagName === "TEMPLATE");
  for (const old of [...parent.children].filter(each => each.tagName !== "TEMPLATE")) {
    for (const figure of old.querySelectorAll(".figure")) forget(figure);
    old.remove();
  }
  const part = make(
    "div",
    {},
    (parts.find(each => each.dataset.key === key) ?? parts.at(-1)).content.cloneNode(true),
  );
  parent.append(part);
  fill(part);
  idle(rest);
}
for (const select of document.querySelectorAll("select")) {
  select.addEventListener("change", () =>
    choices.filter(each => each.dataset.of.split(" ").includes(select.id)).forEach(choose),
  );
}

function update() {
  for (const button of buttons)
    button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.label)));
  for (const [element, view] of views)
    view?.signal("shown", shownOf(data.specs[data.panels[element.dataset.panel].spec])).runAsync();
  for (const map of document.querySelectorAll("[data-map]"))
    map.hidden = hidden.has(map.dataset.map);
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
choices.forEach(choose);
idle(rest);

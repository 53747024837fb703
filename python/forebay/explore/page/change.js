// The panel of what may be changed while it runs: disciplines, links, traffic, and what was changed.

import { make } from "./style.js";
import * as units from "./units.js";

const SYSTEMS = ["cp-aqm", "cq-aqm", "ncq", "wred", "rio", "wrt"];
const THROTTLE_MS = 90;
const STEPS = 200;

const JOINERS = {
  "An upload without end": { kind: "bulk" },
  "A call": { kind: "voice" },
  "A person who browses": { kind: "web", reading: "2s" },
  "A constant stream of 2 Mbit/s": { kind: "cbr", rate: "2Mbit", size: "1500B" },
};

export class ChangePanel {
  #host;
  #send;
  #stage = null;
  #open = new Set(["disciplines", "link"]);
  #fields = new Map();

  constructor(host, send) {
    this.#host = host;
    this.#send = send;
  }

  setStage(stage) {
    this.#stage = stage;
    const focused = this.#host.contains(document.activeElement) ? document.activeElement.id : null;
    const dragged = focused && document.activeElement.type === "range";
    if (dragged && this.#update(stage)) return;
    this.#fields.clear();
    this.#host.replaceChildren(
      this.#section("disciplines", "Disciplines", this.#disciplines()),
      this.#section("link", "Links", this.#links(stage)),
      ...stage.lanes.map(lane =>
        this.#section(`lane${lane.id}`, lane.label, this.#list(lane.fields, lane.id)),
      ),
      this.#section("traffic", "Traffic", this.#traffic()),
      this.#section("recorded", `Recorded changes (${stage.changes.length})`, this.#recorded()),
    );
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  // Say beside a field what is wrong with its value.
  wrong(path, text) {
    const field = this.#fields.get(path);
    if (!field) return false;
    field.wrong.textContent = text;
    field.input.setAttribute("aria-invalid", "true");
    return true;
  }

  // While a slider is held, its panel stays as it is but for the values.
  #update(stage) {
    const given = [
      ...stage.fields.map(field => [field, null]),
      ...stage.lanes.flatMap(lane => lane.fields.map(field => [field, lane.id])),
    ];
    if (given.length !== this.#fields.size) return false;
    for (const [field, lane] of given) {
      const own = this.#fields.get(key(field.path, lane));
      if (!own) return false;
      if (own.input.type !== "checkbox" && own.input !== document.activeElement)
        own.input.value = written(field.value);
    }
    return true;
  }

  #section(name, title, content) {
    const section = make(
      "details",
      { open: this.#open.has(name) },
      make("summary", {}, title),
      content,
    );
    section.addEventListener("toggle", () => {
      if (section.open) this.#open.add(name);
      else this.#open.delete(name);
    });
    return section;
  }

  #disciplines() {
    const { lanes } = this.#stage;
    const rows = lanes.map((lane, place) => {
      const select = this.#kinds(lane.kind, `Discipline of lane ${place + 1}`);
      select.id = `kind-${lane.id}`;
      select.addEventListener("change", () =>
        this.#send("queue", { queue: select.value, lane: lane.id }),
      );
      const remove = make(
        "button",
        { type: "button", disabled: lanes.length === 1, "aria-label": `Remove ${lane.label}` },
        "Remove",
      );
      remove.addEventListener("click", () => this.#side(lanes.filter(each => each !== lane)));
      const called = lane.label === lane.kind ? [] : [make("span", {}, lane.label)];
      return make("div", { className: "row" }, ...called, select, remove);
    });
    const more = this.#kinds("codel", "Discipline to add");
    more.id = "kind-more";
    const add = make(
      "button",
      { type: "button", id: "add-lane", disabled: lanes.length >= 6 },
      "Add",
    );
    add.addEventListener("click", () => this.#side([...lanes, { kind: more.value }]));
    return make(
      "div",
      { className: "rows" },
      ...rows,
      make("div", { className: "row" }, more, add),
    );
  }

  #side(lanes) {
    this.#send("lanes", {
      queues: lanes.map(lane => (lane.queue ? { ...lane.queue, label: lane.label } : lane.kind)),
    });
  }

  #kinds(chosen, label) {
    const option = kind =>
      make(
        "option",
        { value: kind.name, selected: kind.name === chosen, title: kind.summary },
        kind.name,
      );
    const systems = this.#stage.kinds.filter(kind => SYSTEMS.includes(kind.name));
    const others = this.#stage.kinds.filter(kind => !SYSTEMS.includes(kind.name));
    const select = make(
      "select",
      { "aria-label": label },
      make("optgroup", { label: "The five systems" }, ...systems.map(option)),
      make("optgroup", { label: "Standards and others" }, ...others.map(option)),
    );
    if (![...select.options].some(each => each.value === chosen)) {
      select.prepend(make("option", { value: chosen, selected: true }, chosen));
    }
    return select;
  }

  // Which link's queue is shown, and what may be changed of all.
  #links(stage) {
    const names = stage.links.filter(link => link.queue || link.watched).map(link => link.name);
    if (names.length < 2) return this.#list(stage.fields, null);
    const select = make(
      "select",
      { id: "watched" },
      ...names.map(name => make("option", { value: name, selected: name === stage.watched }, name)),
    );
    select.addEventListener("change", () => this.#send("watch", { link: select.value }));
    return make(
      "div",
      {},
      make("div", { className: "field" }, make("label", { for: "watched" }, "Queue shown"), select),
      this.#list(stage.fields, null),
    );
  }

  #list(fields, lane) {
    if (!fields.length) return make("p", { className: "small" }, "Nothing that could be changed.");
    const list = make("div");
    const links = new Set(fields.map(field => field.path.split(".")[0]));
    let link = null;
    for (const field of fields) {
      const own = field.path.split(".")[0];
      if (links.size > 1 && own !== link) list.append(make("h3", {}, this.#nameOf(own)));
      link = own;
      list.append(this.#field(field, lane));
    }
    return list;
  }

  // The link that the beginning of a path such as `link[0].rate` is about.
  #nameOf(step) {
    const place = /^link\[(\d+)\]$/.exec(step)?.[1];
    return this.#stage.links.filter(each => !each.reverse)[place]?.name ?? step;
  }

  #field(field, lane) {
    const id = `field-${lane ?? "all"}-${field.path.replace(/\W/g, "-")}`;
    const wrong = make("p", { className: "wrong", role: "alert", id: `${id}-wrong` });
    const change = value => {
      wrong.textContent = "";
      input.removeAttribute("aria-invalid");
      this.#send("change", { path: field.path, value, lane });
    };
    const input = this.#input(field, id, change);
    input.setAttribute("aria-describedby", `${id}-help ${id}-wrong`);
    const parts = [make("label", { for: id }, field.name.replaceAll("_", " ")), input];
    if (ranged(field)) parts.push(this.#slider(field, input, change));
    parts.push(
      make("p", { className: "help", id: `${id}-help` }, firstSentence(field.help)),
      wrong,
    );
    this.#fields.set(key(field.path, lane), { input, wrong });
    if (!this.#fields.has(field.path)) this.#fields.set(field.path, { input, wrong });
    const row = make("div", { className: "field" }, ...parts);
    row.title = field.help;
    return row;
  }

  #input(field, id, change) {
    if (field.kind === "boolean") {
      const box = make("input", { type: "checkbox", id, checked: Boolean(field.value) });
      box.addEventListener("change", () => change(box.checked));
      return box;
    }
    if (field.kind === "choice") {
      const select = make(
        "select",
        { id },
        ...field.choices.map(each =>
          make("option", { value: each, selected: each === field.value }, each),
        ),
      );
      select.addEventListener("change", () => change(select.value));
      return select;
    }
    const box = make("input", {
      type: "text",
      id,
      value: written(field.value),
      spellcheck: false,
      autocomplete: "off",
    });
    if (field.value === null || field.value === undefined) box.placeholder = "not set";
    box.addEventListener("change", () => change(read(field, box.value)));
    return box;
  }

  #slider(field, input, change) {
    const log = field.low > 0;
    const whole = field.kind === "integer" || field.unit === "p";
    const at = value =>
      log
        ? Math.log(value / field.low) / Math.log(field.high / field.low)
        : (value - field.low) / (field.high - field.low);
    const number = share =>
      log
        ? field.low * (field.high / field.low) ** share
        : field.low + share * (field.high - field.low);
    const slider = make("input", {
      type: "range",
      min: 0,
      max: STEPS,
      step: 1,
      id: `${input.id}-slider`,
      value:
        field.number === null ? 0 : Math.round(STEPS * Math.min(1, Math.max(0, at(field.number)))),
      "aria-label": field.name.replaceAll("_", " "),
      "aria-valuetext": written(field.value),
    });
    let waiting = null;
    let last = 0;
    const tell = () => {
      waiting = null;
      last = performance.now();
      change(read(field, input.value));
    };
    slider.addEventListener("input", () => {
      const value = number(slider.value / STEPS);
      input.value = quantity(whole ? Math.round(value) : value, field);
      slider.setAttribute("aria-valuetext", input.value);
      if (waiting !== null) return;
      const rest = THROTTLE_MS - (performance.now() - last);
      if (rest <= 0) tell();
      else waiting = setTimeout(tell, rest);
    });
    return slider;
  }

  #traffic() {
    const { traffic } = this.#stage;
    const rows = traffic.map(entry => {
      const gone = entry.left_s !== null;
      const leave = make(
        "button",
        { type: "button", disabled: gone, "aria-label": `${entry.name} leaves` },
        gone ? "Has left" : "Leave",
      );
      leave.addEventListener("click", () => this.#send("leave", { traffic: entry.id }));
      return make(
        "div",
        { className: "row" },
        make("span", {}, `${entry.name}: ${units.count(entry.flows, "flow")} (${entry.kind})`),
        leave,
      );
    });
    const joiner = make(
      "select",
      { id: "joiner", "aria-label": "Traffic that joins" },
      ...Object.keys(JOINERS).map(each => make("option", {}, each)),
    );
    const join = make("button", { type: "button", id: "join" }, "Join");
    join.addEventListener("click", () =>
      this.#send("join", { traffic: this.#joining(joiner.value) }),
    );
    const packets = make("input", {
      type: "text",
      id: "burst-packets",
      value: "100",
      inputMode: "numeric",
      "aria-label": "Packets of the burst",
    });
    const burst = make("button", { type: "button", id: "burst" }, "Burst");
    burst.addEventListener("click", () => {
      const number = Math.round(Number(packets.value));
      packets.setAttribute("aria-invalid", String(!(number >= 1)));
      if (number >= 1) this.#send("burst", { packets: number });
    });
    return make(
      "div",
      { className: "rows" },
      ...rows,
      make("div", { className: "row" }, joiner, join),
      make(
        "div",
        { className: "row" },
        make("span", {}, "Packets of 1500 B at once"),
        packets,
        burst,
      ),
    );
  }

  // Who joins goes the way of the first entry that goes over the watched link.
  #joining(name) {
    const link = this.#stage.links.find(each => each.watched);
    const table = { ...JOINERS[name] };
    const names = new Set(this.#stage.nodes.map(node => node.name));
    if (link && !names.has("left"))
      Object.assign(table, { from: link.source, to: this.#beyond(link) });
    return table;
  }

  #beyond(link) {
    let at = link.target;
    for (let hops = 0; hops < this.#stage.links.length; hops++) {
      const next = this.#stage.links.filter(each => !each.reverse && each.source === at);
      if (next.length !== 1) break;
      at = next[0].target;
    }
    return at;
  }

  #recorded() {
    const { changes } = this.#stage;
    if (!changes.length) return make("p", { className: "small" }, "None so far.");
    return make(
      "div",
      { className: "rows" },
      ...changes.map(change => {
        const back = make(
          "button",
          { type: "button", "aria-label": `Take back ${change.text}` },
          "Take back",
        );
        back.addEventListener("click", () => this.#send("forget", { change: change.id }));
        const lane = this.#stage.lanes.find(each => each.id === change.lane);
        return make(
          "div",
          { className: "row" },
          make(
            "span",
            {},
            `${units.time(change.at_s)}: ${change.text}${lane ? `, ${lane.label}` : ""}`,
          ),
          back,
        );
      }),
    );
  }
}

const key = (path, lane) => `${lane ?? "all"} ${path}`;
const ranged = field =>
  field.low !== null &&
  field.high !== null &&
  field.high > field.low &&
  !["boolean", "choice", "value"].includes(field.kind);
const firstSentence = text => /^.*?[.;](?=\s|$)/s.exec(text)?.[0].replace(/;$/, ".") ?? text;

function written(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// A number in the field's unit, as a scenario writes it.
function quantity(value, field) {
  const rounded = (number, unit) => `${Number(number.toPrecision(3))}${unit}`;
  const scaled = steps => {
    const [scale, unit] = steps.find(([least]) => value >= least) ?? steps.at(-1);
    return rounded(value / scale, unit);
  };
  switch (field.unit) {
    case "bit/s":
      return scaled([
        [1e9, "Gbit"],
        [1e6, "Mbit"],
        [1e3, "kbit"],
        [1, "bit"],
      ]);
    case "s":
      return scaled([
        [1, "s"],
        [1e-3, "ms"],
        [1e-6, "us"],
        [1e-9, "ns"],
      ]);
    case "B":
      return scaled([
        [1e6, "MB"],
        [1e3, "KB"],
        [1, "B"],
      ]);
    case "p":
      return `${Math.round(value)}p`;
    default:
      return String(Number(value.toPrecision(3)));
  }
}

// What was typed, as a value of the field's kind; an empty field is no value.
function read(field, text) {
  const words = text.trim();
  if (words === "") return null;
  if (field.kind === "number" || field.kind === "integer") {
    const number = Number(words);
    return Number.isNaN(number) ? words : number;
  }
  if (field.kind !== "value") return words;
  try {
    return JSON.parse(words);
  } catch {
    return words;
  }
}

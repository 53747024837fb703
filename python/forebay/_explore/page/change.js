// The panel of what may be changed while it runs: disciplines, links, traffic, and what was changed.

import { Field } from "./field.js";
import { button, make } from "./style.js";
import * as units from "./units.js";

/** @import { Kind, Queue, ScenarioField, Send, Stage } from "./messages.js" */

const SYSTEMS = ["cp-aqm", "cq-aqm", "ncq", "wred", "rio", "wrt"];
const MOST_LANES = 6;
const MOST_BURST = 100_000;

/** @type {Record<string, Record<string, string>>} */
const JOINERS = {
  "An upload without end": { kind: "bulk" },
  "A call": { kind: "voice" },
  "A person who browses": { kind: "web", reading: "2s" },
  "A constant stream of 2 Mbit/s": { kind: "cbr", rate: "2Mbit", size: "1500B" },
};

export class ChangePanel {
  #host;
  #send;
  #open = new Set(["disciplines", "link"]);
  /** @type {Field[]} */
  #fields = [];
  /** @type {Stage | null} */
  #stage = null;
  /** @type {"range" | "text" | null} */
  #held = null;

  /**
   * @param {HTMLElement} host
   * @param {Send} send
   */
  constructor(host, send) {
    this.#host = host;
    this.#send = send;
    // A slider that the pointer holds, or a field that somebody types in, must stay as it is.
    host.addEventListener("pointerdown", ({ target }) => this.#hold("range", target));
    host.addEventListener("input", ({ target }) => this.#hold("text", target));
    for (const end of ["pointerup", "pointercancel"]) {
      addEventListener(end, () => this.#release("range"));
    }
    host.addEventListener("focusout", () => this.#release("text"));
    host.addEventListener("change", () => {
      if (this.#held === "text") this.#held = null; // the answer to it builds the panel
    });
  }

  /**
   * @param {"range" | "text"} type
   * @param {EventTarget | null} target
   */
  #hold(type, target) {
    if (target instanceof HTMLInputElement && target.type === type) this.#held = type;
  }

  /** @param {"range" | "text"} type */
  #release(type) {
    if (this.#held !== type) return;
    this.#held = null;
    if (this.#stage) this.#build(this.#stage);
  }

  /** @param {Stage} stage */
  setStage(stage) {
    this.#stage = stage;
    if (!this.#held) this.#build(stage);
  }

  /**
   * Say beside a field what is wrong with its value.
   * @param {string} path
   * @param {string} text
   * @returns whether there is such a field
   */
  wrong(path, text) {
    const field = this.#fields.find(each => each.path === path);
    // It begins with the place in the recorded changes, which nobody has written.
    const [, at = path, words = text] = /\bset\.(\S+): (.*)$/s.exec(text) ?? [];
    field?.refuse(at === path ? words : `${at.split(".").pop()} ${words}`);
    return field !== undefined;
  }

  /** @param {Stage} stage */
  #build(stage) {
    const focused = this.#host.querySelector(":focus");
    const box = focused instanceof HTMLInputElement ? focused : null;
    const [from, to] = [box?.selectionStart ?? null, box?.selectionEnd ?? null];
    this.#fields = [];
    this.#host.replaceChildren(
      this.#section("disciplines", "Disciplines", this.#disciplines(stage)),
      this.#section("link", "Links", this.#links(stage)),
      ...stage.lanes.map(lane =>
        this.#section(`lane${lane.id}`, lane.label, this.#list(stage, lane.fields, lane.id)),
      ),
      this.#section("traffic", "Traffic", this.#traffic(stage)),
      this.#section(
        "recorded",
        `Recorded changes (${stage.changes.length})`,
        this.#recorded(stage),
      ),
    );
    const again = focused && document.getElementById(focused.id);
    again?.focus({ preventScroll: true });
    if (again instanceof HTMLInputElement && from !== null) again.setSelectionRange(from, to);
  }

  /**
   * @param {string} name
   * @param {string} title
   * @param {HTMLElement} content
   */
  #section(name, title, content) {
    const open = this.#open.has(name);
    const section = make("details", { open }, make("summary", {}, title), content);
    section.addEventListener("toggle", () => {
      if (section.open) this.#open.add(name);
      else this.#open.delete(name);
    });
    return section;
  }

  /** @param {Stage} stage */
  #disciplines({ lanes, kinds }) {
    /** @param {Queue[]} queues */
    const show = queues => this.#send("lanes", { queues });
    const queues = lanes.map(lane => ({ ...lane.queue, label: lane.label }));
    const disciplines = kinds.filter(kind => !kind.box);
    const rows = lanes.map((lane, place) => {
      const select = choice(disciplines, lane.kind, `Discipline of lane ${place + 1}`);
      select.id = `kind-${lane.id}`;
      onChoice(select, queue => this.#send("queue", { queue, lane: lane.id }));
      const remove = button("Remove", () => show(queues.filter((_, at) => at !== place)), {
        disabled: lanes.length === 1,
        "aria-label": `Remove ${lane.label}`,
      });
      return row(...(lane.label === lane.kind ? [] : [lane.label]), select, remove);
    });
    const more = choice(kinds, "codel", "Discipline to add");
    more.id = "kind-more";
    const add = button("Add", () => show([...queues, more.value]), {
      id: "add-lane",
      disabled: lanes.length >= MOST_LANES,
    });
    return make("div", { className: "rows" }, ...rows, row(more, add));
  }

  /**
   * Which link's queue is shown, and what may be changed of all.
   * @param {Stage} stage
   */
  #links(stage) {
    const list = this.#list(stage, stage.fields, null);
    const names = stage.links.filter(link => link.queue || link.watched).map(link => link.name);
    if (names.length < 2) return list;
    const options = names.map(name =>
      make("option", { value: name, selected: name === stage.watched }, name),
    );
    const select = make("select", { id: "watched" }, ...options);
    onChoice(select, link => this.#send("watch", { link }));
    const label = make("label", { for: "watched" }, "Queue shown");
    return make("div", {}, make("div", { className: "field" }, label, select), list);
  }

  /**
   * @param {Stage} stage
   * @param {ScenarioField[]} fields
   * @param {number | null} lane
   */
  #list(stage, fields, lane) {
    if (!fields.length) return make("p", { className: "small" }, "Nothing that could be changed.");
    const list = make("div");
    const whose = fields.map(field => field.path.split(".")[0]);
    const several = new Set(whose).size > 1;
    for (const [place, field] of fields.entries()) {
      if (several && whose[place] !== whose[place - 1]) {
        list.append(make("h3", {}, nameOf(stage, whose[place])));
      }
      const shown = new Field(field, lane, value =>
        this.#send("change", { path: field.path, value, lane }),
      );
      this.#fields.push(shown);
      list.append(shown.row);
    }
    return list;
  }

  /** @param {Stage} stage */
  #traffic(stage) {
    const rows = stage.traffic.map(({ id, name, kind, flows, left_s }) => {
      const gone = left_s !== null;
      const leave = button(
        gone ? "Has left" : "Leave",
        () => this.#send("leave", { traffic: id }),
        {
          disabled: gone,
          "aria-label": `${name} leaves`,
        },
      );
      return row(`${name}: ${units.count(flows, "flow")} (${kind})`, leave);
    });
    const joiner = make(
      "select",
      { id: "joiner", "aria-label": "Traffic that joins" },
      ...Object.keys(JOINERS).map(each => make("option", {}, each)),
    );
    const join = () =>
      this.#send("join", { traffic: { ...JOINERS[joiner.value], ...wayOf(stage) } });
    const packets = make("input", {
      type: "text",
      id: "burst-packets",
      value: "100",
      inputMode: "numeric",
      "aria-describedby": "burst-wrong",
    });
    const wrong = make("p", { className: "wrong", role: "alert", id: "burst-wrong" });
    const burst = () => {
      const number = Number(packets.value);
      const fits = Number.isInteger(number) && number >= 1 && number <= MOST_BURST;
      packets.setAttribute("aria-invalid", String(!fits));
      const most = MOST_BURST.toLocaleString("en");
      wrong.textContent = fits ? "" : `Must be a whole number, 1 to ${most}.`;
      if (fits) this.#send("burst", { packets: number });
    };
    return make(
      "div",
      { className: "rows" },
      ...rows,
      row(joiner, button("Join", join, { id: "join" })),
      make("label", { for: "burst-packets" }, "Packets of 1500 B at once"),
      row(packets, button("Burst", burst, { id: "burst" })),
      wrong,
    );
  }

  /** @param {Stage} stage */
  #recorded({ changes }) {
    if (!changes.length) return make("p", { className: "small" }, "None so far.");
    const rows = changes.map(({ id, at_s, text }) => {
      const forget = () => this.#send("forget", { change: id });
      return row(
        `${units.time(at_s)}: ${text}`,
        button("Take back", forget, { "aria-label": `Take back ${text}` }),
      );
    });
    return make("div", { className: "rows" }, ...rows);
  }
}

/** @param {...(HTMLElement | string)} content */
const row = (...content) =>
  make(
    "div",
    { className: "row" },
    ...content.map(each => (typeof each === "string" ? make("span", {}, each) : each)),
  );

/**
 * Ask for what is chosen. Until that is done, the list shows what there is.
 * @param {HTMLSelectElement} select
 * @param {(value: string) => void} ask
 */
function onChoice(select, ask) {
  const is = select.value;
  select.addEventListener("change", () => {
    const { value } = select;
    select.value = is;
    ask(value);
  });
}

/**
 * A list of disciplines to choose from.
 * @param {Kind[]} kinds
 * @param {string} chosen
 * @param {string} label
 */
function choice(kinds, chosen, label) {
  /** @param {Kind} kind */
  const option = ({ name, summary }) =>
    make("option", { value: name, selected: name === chosen, title: summary }, name);
  const systems = kinds.filter(kind => SYSTEMS.includes(kind.name));
  const others = kinds.filter(kind => !SYSTEMS.includes(kind.name));
  const select = make(
    "select",
    { "aria-label": label },
    make("optgroup", { label: "The five systems" }, ...systems.map(option)),
    make("optgroup", { label: "Standards and others" }, ...others.map(option)),
  );
  if (!kinds.some(kind => kind.name === chosen)) {
    select.prepend(make("option", { value: chosen, selected: true }, chosen));
  }
  return select;
}

/**
 * The link that the beginning of a path such as `link[0].rate` is about.
 * @param {Stage} stage
 * @param {string} step
 */
function nameOf(stage, step) {
  const [, place] = /^link\[(\d+)\]$/.exec(step) ?? [];
  const links = stage.links.filter(each => !each.reverse);
  return links[Number(place ?? -1)]?.name ?? step;
}

/**
 * Ends of the traffic that joins, where a scenario must name them: it crosses the watched link, and
 * goes on as far as there is one way.
 * @param {Stage} stage
 */
function wayOf({ nodes, links }) {
  const link = links.find(each => each.watched);
  if (!link || nodes.some(node => node.name === "left")) return {};
  let to = link.target;
  for (let hops = 0; hops < links.length; hops++) {
    const next = links.filter(each => !each.reverse && each.source === to);
    if (next.length !== 1) break;
    to = next[0].target;
  }
  return { from: link.source, to };
}

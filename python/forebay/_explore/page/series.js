// The series below the pictures: one chart over all lanes for the queue, and for every other
// measure a chart a lane, on one scale, so that lanes can be compared.

import { Chart, Variables } from "./charts.js";
import { CHARTED } from "./measures.js";
import { button, make, onColours } from "./style.js";

/**
 * @import { Measure, Stage } from "./messages.js"
 * @import { ShownLane } from "./lanes.js"
 */

const VARIABLES = { title: () => "The discipline's own variables", button: "Variables", unit: "" };
const MEASURES = { ...CHARTED, variables: VARIABLES };
/** @type {Measure[]} */
const ASKED = ["queue", "delay", "drops"]; // of which somebody may ask why
const NAMES = /** @type {Measure[]} */ (Object.keys(MEASURES));

export class Series {
  #host;
  #toggles;
  /** @type {Stage | null} */
  #stage = null;
  /** @type {ShownLane[]} */
  #lanes = [];
  /** @type {Set<Measure>} */
  #shown = new Set(["queue", "delay", "throughput", "drops"]);
  /** @type {Map<Measure, Chart[]>} */
  #charts = new Map();
  /** @type {Variables[]} */
  #variables = [];
  /** @type {number | null} */
  #span = null;
  /** @type {Map<Element, Measure>} */
  #sections = new Map();
  /** @type {Set<Measure>} */
  #seen = new Set();
  #sight = new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      const name = this.#sections.get(target);
      if (!name) continue;
      if (isIntersecting) this.#seen.add(name);
      else this.#seen.delete(name);
    }
  });

  #ask;

  /**
   * @param {HTMLElement} host
   * @param {HTMLElement} toggles
   * @param {HTMLSelectElement} span how long the window is: seconds, "inf", or empty
   * @param {(lane: number, atS: number, loss: boolean) => void} ask why packets waited or were lost
   */
  constructor(host, toggles, span, ask) {
    this.#host = host;
    this.#ask = ask;
    span.addEventListener("change", () => {
      this.#span = span.value === "" ? null : span.value === "inf" ? Infinity : Number(span.value);
    });
    this.#toggles = new Map(
      NAMES.map(name => [name, button(MEASURES[name].button, () => this.#toggle(name))]),
    );
    toggles.append(...this.#toggles.values());
    onColours(() => this.#build());
    new ResizeObserver(() => {
      for (const chart of [...this.#charts.values()].flat()) chart.resize();
    }).observe(host);
  }

  /** @param {Measure[]} names the only measures that are shown from now on */
  show(names) {
    this.#shown = new Set(names);
    this.#build();
  }

  /** @param {string[]} names of measures that a story points to */
  look(names) {
    for (const [section, name] of this.#sections) {
      section.classList.toggle("looked", names.includes(name));
    }
  }

  /**
   * @param {Stage} stage
   * @param {ShownLane[]} lanes
   */
  setStage(stage, lanes) {
    this.#stage = stage;
    this.#lanes = lanes;
    this.#build();
  }

  /** @param {Measure} name */
  #toggle(name) {
    if (!this.#shown.delete(name)) this.#shown.add(name);
    this.#build();
  }

  #build() {
    for (const chart of [...this.#charts.values()].flat()) chart.destroy();
    this.#charts.clear();
    this.#variables = [];
    this.#sight.disconnect();
    this.#sections.clear();
    this.#seen.clear();
    for (const [name, toggle] of this.#toggles) {
      toggle.setAttribute("aria-pressed", String(this.#shown.has(name)));
    }
    if (!this.#stage) return;
    for (const name of NAMES) {
      if (!this.#shown.has(name)) continue;
      const section = this.#section(name, this.#stage);
      this.#sections.set(section, name);
      this.#sight.observe(section);
    }
    this.#host.replaceChildren(...this.#sections.keys());
  }

  /**
   * @param {Measure} name
   * @param {Stage} stage
   */
  #section(name, stage) {
    const { unit } = MEASURES[name];
    const title = MEASURES[name].title(stage);
    const head = make("h3", {}, title, ...(unit ? [make("small", {}, ` ${unit}`)] : []));
    const section = make("section", { className: "measure", "aria-label": title }, head);
    section.dataset.name = name;
    let parts;
    if (name === "variables") {
      this.#variables = this.#lanes.map(lane => new Variables(lane));
      parts = this.#variables;
    } else {
      const groups = CHARTED[name].whole ? [this.#lanes] : this.#lanes.map(lane => [lane]);
      /** @type {import("./charts.js").Ask} */
      const asked = (lane, atS) => this.#ask(lane, atS, name === "drops");
      const ask = ASKED.includes(name) ? asked : null;
      parts = groups.map(lanes => new Chart(name, title, lanes, ask));
      this.#charts.set(name, parts);
    }
    const cards = parts.map(each => each.card);
    section.append(
      ...(cards.length > 1 ? [make("div", { className: "columns" }, ...cards)] : cards),
    );
    return section;
  }

  /**
   * Draw what the window shows, of the charts that are in sight.
   * @param {number} nowS
   * @param {number | null} speed as the stage has it
   */
  draw(nowS, speed) {
    const stage = this.#stage;
    if (!stage || !this.#lanes.length) return;
    const span = this.#span ?? Math.min(20, Math.max(12 * (speed ?? 10), 4 * stage.grain_s));
    let from = Math.max(nowS - span, Math.min(0, nowS));
    let to = Math.max(nowS, from + span);
    if (span === Infinity) {
      from = Math.min(nowS - 1e-3, ...this.#lanes.map(({ history }) => history.first?.t ?? nowS));
      to = nowS;
    }
    for (const name of this.#seen) {
      if (name === "variables") {
        for (const each of this.#variables) each.draw(from, to);
        continue;
      }
      const charts = this.#charts.get(name) ?? [];
      const shown = charts.map(chart => chart.shown(stage, from, to));
      const top = 1.08 * Math.max(CHARTED[name].least, ...shown.map(each => each.top));
      for (const [place, chart] of charts.entries()) chart.draw(shown[place], from, to, top);
    }
  }
}

// A field that may be changed while the scenario runs: its value as text, and a slider for quantities.

import { make } from "./style.js";

/** @import { ScenarioField } from "./messages.js" */

const THROTTLE_MS = 90;
const STEPS = 200;

export class Field {
  #field;
  #id;
  #tell;
  #input;
  #wrong;

  /**
   * @param {ScenarioField} field
   * @param {number | null} lane that it is of; null: all
   * @param {(value: unknown) => void} tell asks the server for a value
   */
  constructor(field, lane, tell) {
    this.#field = field;
    this.#id = `field-${lane ?? "all"}-${field.path.replace(/\W/g, "-")}`;
    this.#tell = tell;
    this.#input = this.#made();
    this.#input.setAttribute("aria-describedby", `${this.#id}-help ${this.#id}-wrong`);
    this.#wrong = make("p", { className: "wrong", role: "alert", id: `${this.#id}-wrong` });
    const name = field.name.replaceAll("_", " ");
    const range = rangeOf(field);
    this.row = make(
      "div",
      { className: "field", title: field.help.replaceAll("`", "") },
      make("label", { for: this.#id }, name),
      this.#input,
      ...(range ? [this.#slider(name, range)] : []),
      make(
        "p",
        { className: "help", id: `${this.#id}-help` },
        ...withCode(firstSentence(field.help)),
      ),
      this.#wrong,
    );
  }

  get path() {
    return this.#field.path;
  }

  /**
   * Say what is wrong with its value.
   * @param {string} text
   */
  refuse(text) {
    this.#wrong.textContent = text;
    this.#input.setAttribute("aria-invalid", "true");
  }

  /** @param {unknown} value */
  #change(value) {
    this.#wrong.textContent = "";
    this.#input.removeAttribute("aria-invalid");
    this.#tell(value);
  }

  #made() {
    const { kind, value, choices } = this.#field;
    const id = this.#id;
    if (kind === "boolean") {
      const box = make("input", { type: "checkbox", id, checked: Boolean(value) });
      box.addEventListener("change", () => this.#change(box.checked));
      return box;
    }
    if (kind === "choice") {
      const options = choices.map(each =>
        make("option", { value: each, selected: each === value }, each),
      );
      const select = make("select", { id }, ...options);
      select.addEventListener("change", () => this.#change(select.value));
      return select;
    }
    const box = make("input", {
      type: "text",
      id,
      value: written(value),
      spellcheck: false,
      autocomplete: "off",
      placeholder: value === null ? "not set" : "",
    });
    box.addEventListener("change", () => this.#change(read(this.#field, box.value)));
    return box;
  }

  /**
   * @param {string} name
   * @param {Range} range
   */
  #slider(name, range) {
    const field = this.#field;
    const input = this.#input;
    const at = field.number === null ? 0 : range.share(field.number);
    const slider = make("input", {
      type: "range",
      min: "0",
      max: String(STEPS),
      step: "1",
      id: `${this.#id}-slider`,
      value: String(Math.round(STEPS * Math.min(1, Math.max(0, at)))),
      "aria-label": name,
      "aria-valuetext": written(field.value),
    });
    let waiting = false;
    let last = 0;
    const tell = () => {
      waiting = false;
      last = performance.now();
      this.#change(read(field, input.value));
    };
    slider.addEventListener("input", () => {
      input.value = quantity(range.number(slider.valueAsNumber / STEPS), field.unit);
      slider.setAttribute("aria-valuetext", input.value);
      if (waiting) return;
      waiting = true;
      setTimeout(tell, Math.max(0, THROTTLE_MS - (performance.now() - last)));
    });
    return slider;
  }
}

/**
 * Where a number is on a slider, 0 to 1, and which number is there.
 * @typedef {{ share: (number: number) => number, number: (share: number) => number }} Range
 *
 * The range of a field's slider; null: it has none.
 * @param {ScenarioField} field
 * @returns {Range | null}
 */
function rangeOf({ kind, unit, low, high }) {
  if (low === null || high === null || high <= low) return null;
  if (kind === "boolean" || kind === "choice" || kind === "value") return null;
  /** @type {(number: number) => number} */
  const whole = kind === "integer" || unit === "p" ? Math.round : number => number;
  if (low <= 0) {
    return {
      share: number => (number - low) / (high - low),
      number: share => whole(low + share * (high - low)),
    };
  }
  return {
    share: number => Math.log(number / low) / Math.log(high / low),
    number: share => whole(low * (high / low) ** share),
  };
}

/** @param {string} text */
const firstSentence = text => /^.*?[.;](?=\s|$)/s.exec(text)?.[0].replace(/;$/, ".") ?? text;

/**
 * What stands between backticks is code.
 * @param {string} text
 */
const withCode = text =>
  text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));

/** @param {unknown} value */
function written(value) {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @type {Record<string, [scale: number, unit: string][]>} */
const UNITS = {
  "bit/s": [
    [1e9, "Gbit"],
    [1e6, "Mbit"],
    [1e3, "kbit"],
    [1, "bit"],
  ],
  s: [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "us"],
    [1e-9, "ns"],
  ],
  B: [
    [1e6, "MB"],
    [1e3, "KB"],
    [1, "B"],
  ],
};

/**
 * A number in a field's unit, as a scenario writes it.
 * @param {number} value
 * @param {string} unit
 */
function quantity(value, unit) {
  if (unit === "p") return `${value}p`;
  const scales = UNITS[unit] ?? [[1, ""]];
  const [scale, name] = scales.find(([least]) => value >= least) ?? scales[scales.length - 1];
  return `${Number((value / scale).toPrecision(3))}${name}`;
}

/**
 * What was typed, as a value of the field's kind; an empty field is no value.
 * @param {ScenarioField} field
 * @param {string} text
 */
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

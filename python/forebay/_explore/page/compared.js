// The comparison with replications: a table below the live picture.

import { button, make } from "./style.js";
import * as units from "./units.js";

/** @import { Compared, ComparedAdvice, ComparedCell } from "./messages.js" */

/**
 * @param {HTMLElement} host
 * @param {Compared} compared
 * @param {() => void} [cancel] ends it, where that is possible
 */
export function draw(host, compared, cancel) {
  host.hidden = false;
  const words = `Compared over ${units.count(compared.runs, "replication")}`;
  const title = make("h2", { id: "compared-title" }, words);
  if (compared.done < 1) {
    const label = "Share of the runs that have ended";
    const bar = make("progress", { value: compared.done, max: 1, "aria-label": label });
    host.replaceChildren(title, bar, ...(cancel ? [" ", button("Cancel", cancel)] : []));
    return;
  }
  const heads = ["Class", "Measure", ...compared.lanes];
  const head = make("tr", {}, ...heads.map(each => make("th", { scope: "col" }, each)));
  const rows = compared.rows.map(row =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, row.class_name),
      make("td", {}, row.measure),
      ...row.cells.map(cell),
    ),
  );
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  host.replaceChildren(
    title,
    ...(compared.advice ? [advised(compared.advice)] : []),
    make(
      "div",
      { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Every measure" },
      table,
    ),
    make("p", { className: "small" }, compared.marked),
  );
}

/**
 * What to choose, and what it gives and costs.
 * @param {ComparedAdvice} advice
 */
function advised({ headline, why, beside }) {
  const lists = beside.flatMap(({ title, sentences }) => [
    make("h3", {}, title),
    make("ul", {}, ...sentences.map(each => make("li", {}, each))),
  ]);
  const said = make("p", {}, make("b", {}, headline), ` ${why}`);
  return make("div", { className: "card" }, said, ...lists);
}

/** @param {ComparedCell} given */
function cell({ text, note, mark }) {
  const found = make("td", { className: mark }, text);
  if (note) found.append(make("small", {}, ` ${note}`));
  return found;
}

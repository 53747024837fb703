// The comparison with replications: a table below the live picture.

import { make } from "./style.js";
import * as units from "./units.js";

export function draw(host, compared) {
  host.hidden = false;
  const title = make("h2", { id: "compared-title" }, `Compared over ${units.count(compared.runs, "replication")}`);
  if (compared.done < 1) {
    const bar = make("progress", { value: compared.done, max: 1, "aria-label": "Share of the runs that have ended" });
    host.replaceChildren(title, bar);
    return;
  }
  const head = make("tr", {}, make("th", { scope: "col" }, "Class"), make("th", { scope: "col" }, "Measure"),
    ...compared.lanes.map(lane => make("th", { scope: "col" }, lane)));
  const rows = compared.rows.map(row => make("tr", {},
    make("th", { scope: "row" }, row.class_name), make("td", {}, row.measure), ...row.cells.map(cell)));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  host.replaceChildren(title,
    make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-labelledby": "compared-title" }, table),
    make("p", { className: "small" }, "Mean and half the width of its 95 % interval. Marked: best of its row, or the difference to the best is too small to notice, or cannot be told apart from it with these runs."));
}

function cell({ mean, low, high, best }) {
  if (mean === null) return make("td", {}, "–");
  const found = make("td", { className: best ? "best" : "" }, units.plain(mean));
  if (low !== null && high !== null) found.append(make("small", {}, ` ±${units.plain((high - low) / 2)}`));
  return found;
}

// The comparison with replications: a table below the live picture.

import { make } from "./style.js";
import * as units from "./units.js";

export function draw(host, compared) {
  host.hidden = false;
  const title = make(
    "h2",
    { id: "compared-title" },
    `Compared over ${units.count(compared.runs, "replication")}`,
  );
  if (compared.done < 1) {
    const bar = make("progress", {
      value: compared.done,
      max: 1,
      "aria-label": "Share of the runs that have ended",
    });
    host.replaceChildren(title, bar);
    return;
  }
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, "Class"),
    make("th", { scope: "col" }, "Measure"),
    ...compared.lanes.map(lane => make("th", { scope: "col" }, lane)),
  );
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
    make(
      "div",
      { className: "scroll", tabIndex: 0, role: "region", "aria-labelledby": "compared-title" },
      table,
    ),
    make("p", { className: "small" }, compared.marked),
  );
}

function cell({ text, note, mark }) {
  const found = make("td", { className: mark }, text);
  if (note) found.append(make("small", {}, ` ${note}`));
  return found;
}

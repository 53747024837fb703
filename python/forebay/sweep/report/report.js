"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { shown, colour, ink, symbol, escaped, layout, wide, logarithmic, clear, draw, ellipse, legend } = await plotting(data.labels);
  const MOST_PANELS = 30;
  const get = id => document.getElementById(id);
  const withUnit = measure => measure.unit ? `${measure.title}, ${measure.unit}` : measure.title;
  function choices(id, names, chosen, onChange) {
    const select = get(id);
    names.forEach(([value, text]) => select.append(new Option(text, value, false, String(value) === String(chosen))));
    select.addEventListener("change", onChange);
  }

  // The axis along x, and a panel for every combination of steps on the others.
  function axisAlong() { return data.axes.length ? Number(get("along").value) : -1; }
  function describe(steps, without) {
    return steps.flatMap((step, at) => at === without ? [] : [`${data.axes[at].name} ${data.axes[at].labels[step]}`]).join(", ");
  }
  function panels(along) {
    const found = new Map();
    data.settings.forEach((steps, row) => {
      const title = describe(steps, along);
      if (!found.has(title)) found.set(title, []);
      found.get(title).push(row);
    });
    return [...found];
  }
  function scaleOf(axis) {
    if (!axis) return { values: [""], x: { label: "", type: "category" } };
    const spread = axis.numbers && Math.max(...axis.numbers) / Math.min(...axis.numbers);
    const log = axis.numbers && Math.min(...axis.numbers) > 0 && spread >= 8;
    if (!axis.numbers) return { values: axis.labels, x: { label: axis.name, type: "category" } };
    const ticks = axis.numbers.length <= 8 ? { tickvals: axis.numbers, ticktext: axis.labels.map(escaped) } : { tickformat: "~s" };
    return { values: axis.numbers, x: { label: axis.name, type: log ? "log" : "linear", ...ticks } };
  }

  function multiples(id, cells, label, zero) {
    const parent = clear(get(id)), along = axisAlong(), scale = scaleOf(data.axes[along]);
    for (const [title, rows] of panels(along).slice(0, MOST_PANELS)) {
      const traces = data.labels.map((name, at) => {
        const points = rows.filter(row => cells[row][at]);
        return {
          name, type: "scatter", mode: "lines+markers", visible: shown.has(name),
          x: points.map(row => scale.values[along < 0 ? 0 : data.settings[row][along]]),
          y: points.map(row => cells[row][at][0]),
          error_y: { type: "data", array: points.map(row => cells[row][at][1] ?? 0), thickness: 1.2, width: 3, color: ink(at) },
          line: { color: ink(at), width: 1.6 }, marker: { symbol: symbol(at), size: 7, color: ink(at) },
          hovertemplate: `${escaped(name)}<br>%{y:.4~g} ± %{error_y.array:.2~g}<extra></extra>`,
        };
      }).filter(trace => trace.x.length > 0);
      const values = traces.flatMap(trace => trace.y);
      const y = zero ? { label, zeroline: true, zerolinecolor: colour("--quiet") }
        : wide(values) ? logarithmic(label, values) : { label };
      const text = `${label} for each discipline${title ? `, ${title}` : ""}`;
      draw(parent, text, traces, layout(title, scale.x, y));
    }
  }

  function trades() {
    const first = Number(get("trade-x").value), second = Number(get("trade-y").value);
    const turned = first > second, key = turned ? `${second},${first}` : `${first},${second}`;
    const parent = clear(get("trades")), cells = data.regions[key];
    get("trades-left").textContent = "";
    if (!cells) {
      get("trades-left").textContent = first === second ? "Choose two different measures." :
        "This pair is not in the report, which would grow too large; forebay.study.load(...).regions gives it.";
      return;
    }
    data.settings.slice(0, MOST_PANELS).forEach((steps, row) => {
      const traces = [];
      data.labels.forEach((name, at) => {
        if (!cells[row][at]) return;
        let [x, y, xx, xy, yy] = cells[row][at];
        if (turned) [x, y, xx, yy] = [y, x, yy, xx];
        const visible = shown.has(name);
        if (xx !== null) {
          const [xs, ys] = ellipse([x, y, xx, xy, yy]);
          traces.push({ type: "scatter", mode: "lines", x: xs, y: ys, visible, hoverinfo: "skip", line: { color: ink(at), width: 1.4 }, fill: "toself", opacity: .55 });
        }
        traces.push({
          name, type: "scatter", mode: "markers", x: [x], y: [y], visible,
          marker: { symbol: symbol(at), size: 9, color: ink(at) },
          hovertemplate: `${escaped(name)}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>`,
        });
      });
      const title = describe(steps, -1);
      const label = [first, second].map(at => withUnit(data.measures[at]));
      draw(parent, `${label[1]} against ${label[0]}, ${title}`, traces, layout(title, { label: label[0] }, { label: label[1] }));
    });
    const left = data.settings.length - MOST_PANELS;
    if (left > 0) get("trades-left").textContent = `${left} more settings are not drawn; forebay.study.load(...).regions gives them.`;
  }

  function number(cell) {
    if (!cell) return "–";
    const digits = cell[1] ? Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(cell[1])))) : 3;
    const mean = cell[1] ? cell[0].toFixed(digits) : Number(cell[0].toPrecision(4)).toString();
    return cell[1] === null ? mean : `${mean} ±${cell[1].toFixed(digits)}`;
  }

  function table() {
    const measure = Number(get("measure").value), parent = get("table");
    get("table-caption").textContent = `${withUnit(data.measures[measure])}: mean ± half-width of its interval.`;
    const rows = data.settings.map((steps, row) =>
      [...steps.map((step, at) => data.axes[at].labels[step]), ...data.means[measure][row].map(number)]);
    const heads = [...data.axes.map(axis => axis.name), ...data.labels];
    const line = (cells, kind) => {
      const row = document.createElement("tr");
      cells.forEach((text, at) => {
        const cell = document.createElement(kind === "th" || at < data.axes.length ? "th" : "td");
        if (cell.tagName === "TH") cell.scope = kind === "th" ? "col" : "row";
        cell.dataset.of = heads[at];
        cell.textContent = text;
        row.append(cell);
      });
      return row;
    };
    const head = document.createElement("thead"), body = document.createElement("tbody");
    head.append(line(heads, "th"));
    body.append(...rows.map(cells => line(cells, "td")));
    parent.replaceChildren(head, body);
  }

  function redraw() {
    const measure = Number(get("measure").value);
    multiples("means", data.means[measure], withUnit(data.measures[measure]), false);
    const against = data.differences[get("against").value];
    if (against) multiples("differences", against[measure], ["difference", data.measures[measure].unit].filter(Boolean).join(", "), true);
    table();
    if (get("trade-x").options.length > 1) trades();
  }

  choices("measure", data.measures.map((measure, at) => [at, withUnit(measure)]), data.first, redraw);
  const longest = data.axes.reduce((best, axis, at) => {
    const size = each => each.labels.length + (each.numbers ? 1000 : 0);
    return size(axis) > size(data.axes[best]) ? at : best;
  }, 0);
  choices("along", data.axes.map((axis, at) => [at, axis.name]), longest, redraw);
  if (data.axes.length < 2) get("along-label").hidden = true;
  choices("against", Object.keys(data.differences).map(name => [name, name]), data.labels[0], redraw);
  if (data.labels.length < 2) get("differences-section").hidden = true;
  const traded = data.measures.flatMap((measure, at) => measure.trade ? [[at, withUnit(measure)]] : []);
  const pair = (Object.keys(data.regions)[0] ?? "0,0").split(",");
  const delay = traded.find(([at]) => data.measures[at].title.includes("delay"));
  choices("trade-x", traded, pair[0], redraw);
  choices("trade-y", traded, delay && data.regions[`${pair[0]},${delay[0]}`] ? delay[0] : pair[1], redraw);
  if (traded.length < 2) get("trades-section").hidden = true;

  legend(get("legend"), redraw);
})();

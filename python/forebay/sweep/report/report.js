"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), c => c.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const library = document.createElement("script");
  library.textContent = await new Response(plain).text();
  document.head.append(library);

  const MOST_PANELS = 30;
  const symbols = ["circle", "square", "diamond", "triangle-up", "cross", "star"];
  const shown = new Set(data.labels);
  const get = id => document.getElementById(id);
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = at => colour(`--d${at % 10}`);
  const symbol = at => symbols[(at + Math.floor(at / 10)) % symbols.length];
  const withUnit = measure => measure.unit ? `${measure.title}, ${measure.unit}` : measure.title;
  const options = { responsive: true, displaylogo: false, displayModeBar: false };

  function choices(id, names, chosen, onChange) {
    const select = get(id);
    names.forEach(([value, text]) => select.append(new Option(text, value, false, String(value) === String(chosen))));
    select.addEventListener("change", onChange);
  }

  function layout(title, x, y) {
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zeroline: false, automargin: true };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--ink") },
      margin: { l: 52, r: 14, t: title ? 34 : 14, b: 42 }, showlegend: false, hovermode: "closest",
      title: title ? { text: escaped(title), x: 0, xanchor: "left", xref: "paper", font: { size: 13 } } : undefined,
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      xaxis: { ...axis, ...x, title: { text: escaped(x.label), standoff: 6 } },
      yaxis: { ...axis, ...y, title: { text: escaped(y.label), standoff: 6 } },
    };
  }
  const escaped = text => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");

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

  // Values that span more than a decade would hide all but the largest.
  function wide(values) {
    const least = Math.min(...values), most = Math.max(...values);
    return least > 0 && most / least > 20;
  }

  function clear(id) {
    const parent = get(id);
    for (const old of parent.children) Plotly.purge(old);
    parent.replaceChildren();
    return parent;
  }
  function panel(parent, description) {
    const element = document.createElement("div");
    element.className = "figure";
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", description);
    parent.append(element);
    return element;
  }

  function multiples(id, cells, label, zero) {
    const parent = clear(id), along = axisAlong(), scale = scaleOf(data.axes[along]);
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
      const log = !zero && wide(traces.flatMap(trace => trace.y));
      const y = zero ? { label, zeroline: true, zerolinecolor: colour("--quiet") }
        : log ? { label: `${label} (log)`, type: "log", dtick: 1 } : { label };
      const text = `${label} for each discipline${title ? `, ${title}` : ""}`;
      Plotly.newPlot(panel(parent, text), traces, layout(title, scale.x, y), options);
    }
  }

  function ellipse([x, y, xx, xy, yy]) {
    const a = Math.sqrt(xx), b = a > 0 ? xy / a : 0, c = Math.sqrt(Math.max(0, yy - b * b));
    const xs = [], ys = [];
    for (let k = 0; k <= 60; k++) {
      const u = Math.cos(2 * Math.PI * k / 60), v = Math.sin(2 * Math.PI * k / 60);
      xs.push(x + a * u); ys.push(y + b * u + c * v);
    }
    return [xs, ys];
  }

  function trades() {
    const first = Number(get("trade-x").value), second = Number(get("trade-y").value);
    const turned = first > second, key = turned ? `${second},${first}` : `${first},${second}`;
    const parent = clear("trades"), cells = data.regions[key];
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
      Plotly.newPlot(panel(parent, `${label[1]} against ${label[0]}, ${title}`), traces, layout(title, { label: label[0] }, { label: label[1] }), options);
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
    const line = (cells, kind) => {
      const row = document.createElement("tr");
      cells.forEach((text, at) => {
        const cell = document.createElement(kind === "th" || at < data.axes.length ? "th" : "td");
        if (cell.tagName === "TH") cell.scope = kind === "th" ? "col" : "row";
        cell.textContent = text;
        row.append(cell);
      });
      return row;
    };
    const head = document.createElement("thead"), body = document.createElement("tbody");
    head.append(line([...data.axes.map(axis => axis.name), ...data.labels], "th"));
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

  data.labels.forEach((label, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Show or hide; double click to show only this one";
    button.setAttribute("aria-pressed", "true");
    const swatch = document.createElement("i");
    swatch.className = `swatch d${index % 10}`;
    button.append(swatch, label);
    const update = () => {
      for (const [at, other] of [...document.querySelectorAll("#legend button")].entries()) {
        other.setAttribute("aria-pressed", String(shown.has(data.labels[at])));
      }
      redraw();
    };
    button.addEventListener("click", () => { if (!shown.delete(label)) shown.add(label); update(); });
    button.addEventListener("dblclick", () => { shown.clear(); shown.add(label); update(); });
    get("legend").append(button);
  });
  redraw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();

"use strict";
// The map of a network: every link in two halves, each with the colour of the direction that leaves
// the node beside it; and the worst links as a table.
function linksMap({ data, colour, layout, options }) {
  const network = data.network;
  if (!network) return () => {};
  const { nodes, links, values } = network;
  const number = digits => value => value === null ? "–" : value.toLocaleString("en", { maximumSignificantDigits: digits });
  const measures = {
    utilization: { title: "Utilization", unit: "%", steps: [20, 40, 60, 80, 95] },
    delay: { title: "99th percentile of the wait", unit: "ms", steps: [1, 5, 20, 50, 200] },
    loss: { title: "Dropped", unit: "%", steps: [0, 0.1, 1, 3, 10] },
  };
  const get = id => document.getElementById(id);
  const few = nodes.names.length <= 60;
  const thin = links.length > 400 ? 0.7 : few ? 1.6 : 1;
  const widths = [1.4, 1.8, 2.4, 3.2, 4, 4.8].map(width => width * thin);
  const worst = 10;

  const ends = nodes.names.map(() => 0);
  for (const [from, to] of links) { ends[from] += 1; ends[to] += 1; }

  function rate(bps) {
    if (bps === null) return "varies";
    const [size, unit] = [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]].find(([size]) => bps >= size) ?? [1, "bit/s"];
    return `${number(3)(bps / size)} ${unit}`;
  }

  // Both directions of every link, the one there first.
  const directions = links.flatMap(([from, to, name, there, back]) => [
    { from, to, name, bps: there }, { from: to, to: from, name: `${name}-reverse`, bps: back },
  ]);
  const between = ({ from, to }) => `${nodes.names[from]} → ${nodes.names[to]}`;
  const band = (value, steps) => steps.filter(step => (value ?? 0) > step).length;
  const found = (label, at) => Object.entries(measures).map(([key, { title, unit }]) => ({
    title, unit, text: number(3)(values[label][key][at]),
  }));

  function traces(label, measure) {
    const { steps } = measures[measure];
    const lines = widths.map((width, step) => ({
      type: "scatter", mode: "lines", x: [], y: [], hoverinfo: "skip", line: { color: colour(`--m${step}`), width },
    }));
    const hover = { type: "scatter", mode: "none", x: [], y: [], text: [], hovertemplate: "%{text}<extra></extra>" };
    directions.forEach((direction, at) => {
      const [x, y, farX, farY] = [nodes.x[direction.from], nodes.y[direction.from], nodes.x[direction.to], nodes.y[direction.to]];
      const line = lines[band(values[label][measure][at], steps)];
      line.x.push(x, (x + farX) / 2, null);
      line.y.push(y, (y + farY) / 2, null);
      hover.x.push(x + (farX - x) / 3);
      hover.y.push(y + (farY - y) / 3);
      const told = found(label, at).map(({ title, unit, text }) => `${title}: ${text} ${unit}`);
      hover.text.push([`<b>${between(direction)}</b>`, rate(direction.bps), ...told].join("<br>"));
    });
    const drawn = nodes.names.map((_, node) => node).filter(node => few || ends[node] > 1);
    const pick = column => drawn.map(node => column[node]);
    const marks = {
      type: "scatter", mode: few ? "markers+text" : "markers", x: pick(nodes.x), y: pick(nodes.y), text: pick(nodes.names),
      textposition: "top center", textfont: { size: 11 }, hovertemplate: "%{text}<extra></extra>", cliponaxis: false,
      marker: { color: colour("--card"), opacity: 1, size: few ? 8 : 4, line: { color: colour("--quiet"), width: few ? 1.6 : 1 } },
    };
    return [...lines.filter(line => line.x.length), hover, marks];
  }

  function scale(measure) {
    const { steps, unit } = measures[measure];
    get("map-scale").replaceChildren(...widths.map((_, step) => {
      const item = document.createElement("li");
      const swatch = document.createElement("i");
      swatch.className = "swatch";
      swatch.style.background = `var(--m${step})`;
      const [from, to] = [steps[step - 1], steps[step]];
      const text = from === undefined ? (to === 0 ? "none" : `up to ${to} ${unit}`) : to === undefined ? `over ${from} ${unit}` : `${from} to ${to} ${unit}`;
      item.append(swatch, text);
      return item;
    }));
  }

  function table(label, measure) {
    const shown = values[label][measure];
    const order = directions.map((_, at) => at).filter(at => shown[at] !== null).sort((a, b) => shown[b] - shown[a]).slice(0, worst);
    const heads = ["Capacity", ...Object.values(measures).map(({ title, unit }) => `${title}, ${unit}`)];
    const head = document.createElement("tr");
    head.append(...["Link", ...heads].map(text => Object.assign(document.createElement("th"), { scope: "col", textContent: text })));
    const rows = order.map(at => {
      const row = document.createElement("tr");
      row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: between(directions[at]), title: directions[at].name }));
      [rate(directions[at].bps), ...found(label, at).map(({ text }) => text)].forEach((text, column) => {
        const cell = Object.assign(document.createElement("td"), { textContent: text });
        cell.dataset.of = heads[column];
        row.append(cell);
      });
      return row;
    });
    get("worst-by").textContent = `The ${order.length} worst directions by ${measures[measure].title.toLowerCase()}`;
    get("worst").tHead.replaceChildren(head);
    get("worst").tBodies[0].replaceChildren(...rows);
  }

  const axis = { visible: false, label: "" };
  function draw() {
    const [label, measure] = [get("map-of").value, get("map-by").value];
    const chart = layout({ hover: "closest", x: axis, y: { ...axis, scaleanchor: "x" } });
    chart.margin = few ? { l: 40, r: 40, t: 26, b: 16 } : { l: 10, r: 10, t: 10, b: 10 };
    chart.dragmode = matchMedia("(pointer: coarse)").matches ? false : "pan";
    Plotly.react(get("network"), traces(label, measure), chart, { ...options, scrollZoom: true });
    scale(measure);
    table(label, measure);
  }

  const choices = [["map-by", Object.entries(measures).map(([key, { title }]) => [key, title])], ["map-of", data.labels.map(label => [label, label])]];
  for (const [id, names] of choices) {
    get(id).append(...names.map(([value, text]) => new Option(text, value)));
    get(id).addEventListener("change", draw);
  }
  return draw;
}

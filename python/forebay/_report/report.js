"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), c => c.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const library = document.createElement("script");
  library.textContent = await new Response(plain).text();
  document.head.append(library);

  const dashes = ["solid", "dash", "dot", "dashdot", "longdash"];
  const strokes = ["", "6 3", "1.5 3", "6 3 1.5 3", "10 4"];
  const dash = index => (index + Math.floor(index / 10)) % dashes.length;
  const shown = new Set(data.labels);
  const figures = [];
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function layout(figure) {
    const axis = {
      gridcolor: colour("--line"), linecolor: colour("--line"), zeroline: false,
      automargin: true, title: { standoff: 8 }, fixedrange: false,
    };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--ink") },
      margin: { l: 52, r: 14, t: figure.title ? 36 : 14, b: 44 },
      title: figure.title ? { text: figure.title, x: 0, xanchor: "left", xref: "paper", font: { size: 14 } } : undefined,
      showlegend: false, hovermode: figure.hover,
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      xaxis: { ...axis, ...figure.x, title: { ...axis.title, text: figure.x.label } },
      yaxis: { ...axis, ...figure.y, title: { ...axis.title, text: figure.y.label } },
      shapes: figure.warmup ? [{
        type: "rect", xref: "x", yref: "paper", x0: 0, x1: data.warmup, y0: 0, y1: 1,
        fillcolor: colour("--shade"), line: { width: 0 }, layer: "below",
      }] : [],
    };
  }

  function traces(figure) {
    return data.labels.map((label, index) => ({
      name: label, type: "scatter", mode: "lines", visible: shown.has(label),
      x: figure.curves[label].x, y: figure.curves[label].y, hovertemplate: figure.template,
      line: { color: colour(`--d${index % 10}`), width: 1.8, dash: dashes[dash(index)], shape: figure.shape },
    })).filter(trace => trace.x.length > 0);
  }

  const options = { responsive: true, displaylogo: false, displayModeBar: false };
  const draw = figure => Plotly.react(figure.element, traces(figure), layout(figure), options);

  function add(element, figure) {
    if (!data.labels.some(label => figure.curves[label].x.length > 0)) { element.remove(); return; }
    figures.push({ element, ...figure });
  }

  function cell(parent, description) {
    const element = document.createElement("div");
    element.className = "figure";
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", description);
    document.getElementById(parent).append(element);
    return element;
  }

  const ticks = [-2, -1, 0, 1, 2, 3, 4].flatMap(power => [1, 2, 5].map(digit => Number(`${digit}e${power}`)));
  function delayAxis(curves) {
    const delays = Object.values(curves).flatMap(curve => curve.x).filter(delay => delay > 0);
    // A logarithmic axis without a labelled tick in its range says nothing.
    if (Math.max(...delays) < 4 * Math.min(...delays)) return { label: "delay, ms" };
    return { label: "delay, ms", type: "log", tickmode: "array", tickvals: ticks, ticktext: ticks.map(String) };
  }

  const time = { label: "time, s" };
  add(document.getElementById("queue"), {
    curves: data.queue, warmup: true, hover: "x unified", shape: "linear", x: time,
    y: { label: "packets", rangemode: "tozero" }, template: "%{y:.4~g}",
  });
  for (const name of data.classes) {
    add(cell("delay", `Distribution of the delay of ${name} for each discipline`), {
      title: name, curves: data.delay[name], hover: "closest", shape: "hv",
      x: delayAxis(data.delay[name]),
      y: { label: "share of packets", range: [0, 1.02], tickformat: ".0%" },
      template: "%{y:.2%} within %{x:.4~g} ms",
    });
    add(cell("throughput", `Throughput of ${name} over time for each discipline`), {
      title: name, curves: data.throughput[name], warmup: true, hover: "x unified", shape: "linear",
      x: time, y: { label: "kb/s", rangemode: "tozero" }, template: "%{y:.4~g} kb/s",
    });
  }

  const WIDTHS = 8;
  const count = (number, what) => `${number.toLocaleString("en")} ${what}`;

  // Lines of one width are one trace: a network may have thousands of hops.
  function hopTraces(routes, ink, most) {
    const at = index => data.map.stations[index];
    const lines = Array.from({ length: WIDTHS }, () => ({ x: [], y: [] }));
    const middle = { x: [], y: [], text: [] };
    for (const [a, b, forward, back] of routes.hops) {
      const [from, to] = [at(a), at(b)];
      const line = lines[Math.ceil(WIDTHS * (forward + back) / most) - 1];
      line.x.push(from.x, to.x, null);
      line.y.push(from.y, to.y, null);
      middle.x.push((from.x + to.x) / 2);
      middle.y.push((from.y + to.y) / 2);
      middle.text.push(`${from.name} → ${to.name}: ${count(forward, "packets")}<br>${to.name} → ${from.name}: ${count(back, "packets")}`);
    }
    const drawn = lines.map((line, step) => ({
      ...line, type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: ink, width: 1 + step },
    }));
    return [...drawn, { ...middle, type: "scatter", mode: "markers", marker: { color: ink, size: 12, opacity: 0 }, hovertemplate: "%{text}<extra></extra>" }];
  }

  function pathTraces() {
    const quiet = colour("--quiet");
    const angles = Array.from({ length: 49 }, (_, step) => step * Math.PI / 24);
    return data.map.paths.flatMap(path => {
      const name = `${path.what} ${path.name}`;
      const way = {
        type: "scatter", mode: "lines+markers", x: path.x, y: path.y, line: { color: quiet, width: 1.5, dash: "dash" },
        marker: { symbol: path.x.map((_, step) => step ? "arrow" : "x-thin"), angleref: "previous", size: 11, color: quiet, line: { color: quiet, width: 2 } },
        text: path.times, hovertemplate: `${name}, %{text}<extra></extra>`,
      };
      if (!path.range) return [way];
      const ring = {
        type: "scatter", mode: "lines", line: { color: quiet, width: 1, dash: "dot" },
        x: angles.map(angle => path.x[0] + path.range * Math.cos(angle)),
        y: angles.map(angle => path.y[0] + path.range * Math.sin(angle)), hoverinfo: "skip",
      };
      return [ring, way];
    });
  }

  function drawMap({ element, label, index, most }) {
    element.hidden = !shown.has(label);
    const routes = data.map.routes[label];
    const { stations } = data.map;
    const marks = {
      type: "scatter", mode: "markers+text", x: stations.map(station => station.x), y: stations.map(station => station.y),
      text: stations.map(station => station.single ? station.name : ""), textposition: "bottom center",
      customdata: stations.map((station, at) => `${station.name}<br>${count(routes.received[at], "packets received")}<br>${count(routes.lost[at], "lost")}`),
      hovertemplate: "%{customdata}<extra></extra>", cliponaxis: false,
      marker: {
        color: colour("--card"), opacity: 1, size: stations.map(station => station.base ? 13 : 9),
        symbol: stations.map(station => station.base ? "square" : "circle"), line: { color: colour("--ink"), width: 1.6 },
      },
    };
    const chart = layout({
      title: label, hover: "closest", x: { label: "m" },
      y: { label: "m", scaleanchor: "x", constrain: "domain" },
    });
    Plotly.react(element, [...pathTraces(), ...hopTraces(routes, colour(`--d${index % 10}`), most), marks], chart, options);
  }

  const maps = [];
  if (data.map) {
    const packets = Object.values(data.map.routes).flatMap(({ hops }) => hops.map(hop => hop[2] + hop[3]));
    const most = Math.max(1, ...packets);
    data.labels.forEach((label, index) => {
      const element = cell("map", `Map of the stations and their routes under ${label}`);
      element.classList.add("map");
      maps.push({ element, label, index, most });
    });
  }

  const drawLinks = linksMap({ data, colour, layout, options });
  const redraw = () => { figures.forEach(draw); maps.forEach(drawMap); };
  data.labels.forEach((label, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Show or hide; double click to show only this one";
    button.setAttribute("aria-pressed", "true");
    const stroke = strokes[dash(index)];
    button.innerHTML = `<svg aria-hidden="true"><line x1="0" x2="24" y1="4" y2="4" stroke-width="2.5" stroke-dasharray="${stroke}" style="stroke: var(--d${index % 10})"/></svg>`;
    button.append(label);
    const update = () => {
      for (const [at, other] of [...document.querySelectorAll("#legend button")].entries()) {
        other.setAttribute("aria-pressed", String(shown.has(data.labels[at])));
      }
      redraw();
    };
    button.addEventListener("click", () => {
      if (!shown.delete(label)) shown.add(label);
      update();
    });
    button.addEventListener("dblclick", () => {
      shown.clear();
      shown.add(label);
      update();
    });
    document.getElementById("legend").append(button);
  });
  redraw();
  drawLinks();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { redraw(); drawLinks(); });
})();

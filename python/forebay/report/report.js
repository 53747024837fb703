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

  const redraw = () => figures.forEach(draw);
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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();

"use strict";
// What the reports of studies and suites draw with; resolves once plotly.js is unpacked.
async function plotting(labels) {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), c => c.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const library = document.createElement("script");
  library.textContent = await new Response(plain).text();
  document.head.append(library);

  const symbols = ["circle", "square", "diamond", "triangle-up", "cross", "star"];
  const shown = new Set(labels);
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = at => colour(`--d${at % 10}`);
  const symbol = at => symbols[(at + Math.floor(at / 10)) % symbols.length];
  const options = { responsive: true, displaylogo: false, displayModeBar: false };
  const escaped = text => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");

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

  // Values that span more than a decade would hide all but the largest.
  function wide(values) {
    const least = Math.min(...values), most = Math.max(...values);
    return least > 0 && most / least > 20;
  }

  // Within three decades 2 and 5 are labelled too: powers of ten alone may leave one label.
  function logarithmic(label, values) {
    const axis = { label: `${label} (log)`, type: "log" };
    if (Math.max(...values) > 1000 * Math.min(...values)) return { ...axis, dtick: 1 };
    const ticks = Array.from({ length: 16 }, (_, at) => at - 6).flatMap(power => [1, 2, 5].map(digit => Number(`${digit}e${power}`)));
    return { ...axis, tickmode: "array", tickvals: ticks, ticktext: ticks.map(String) };
  }

  function clear(parent) {
    for (const old of parent.children) Plotly.purge(old);
    parent.replaceChildren();
    return parent;
  }

  function draw(parent, description, traces, arrangement) {
    const element = document.createElement("div");
    element.className = "figure";
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", description);
    parent.append(element);
    Plotly.newPlot(element, traces, arrangement, options);
  }

  // The contour at distance 1 of a Gaussian with this mean and covariance.
  function ellipse([x, y, xx, xy, yy]) {
    const a = Math.sqrt(xx), b = a > 0 ? xy / a : 0, c = Math.sqrt(Math.max(0, yy - b * b));
    const xs = [], ys = [];
    for (let k = 0; k <= 60; k++) {
      const u = Math.cos(2 * Math.PI * k / 60), v = Math.sin(2 * Math.PI * k / 60);
      xs.push(x + a * u); ys.push(y + b * u + c * v);
    }
    return [xs, ys];
  }

  // Buttons that show and hide disciplines in all figures.
  function legend(parent, redraw) {
    labels.forEach((label, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Show or hide; double click to show only this one";
      button.setAttribute("aria-pressed", "true");
      const swatch = document.createElement("i");
      swatch.className = `swatch d${index % 10}`;
      button.append(swatch, label);
      const update = () => {
        for (const [at, other] of [...parent.querySelectorAll("button")].entries()) {
          other.setAttribute("aria-pressed", String(shown.has(labels[at])));
        }
        redraw();
      };
      button.addEventListener("click", () => { if (!shown.delete(label)) shown.add(label); update(); });
      button.addEventListener("dblclick", () => { shown.clear(); shown.add(label); update(); });
      parent.append(button);
    });
    redraw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  return { shown, colour, ink, symbol, escaped, layout, wide, logarithmic, clear, draw, ellipse, legend };
}

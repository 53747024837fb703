"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { shown, ink, symbol, escaped, layout, wide, logarithmic, clear, draw, ellipse, legend } = await plotting(data.labels);
  const DELAY = "Queueing delay, ms", GOODPUT = "Goodput, Mbit/s";
  const describe = panel => panel.setting ? `${panel.class}, ${panel.setting}` : panel.class;
  // A logarithmic scale where disciplines are decades apart.
  const scale = (label, values) => wide(values) ? logarithmic(label, values) : { label, rangemode: "tozero" };
  // Goodputs that differ by less than a hundredth would fill the axis with what does not matter.
  function apart(values) {
    const least = Math.min(...values), most = Math.max(...values);
    return most - least < .01 * most ? { range: [.97 * most, 1.01 * most] } : {};
  }

  function trades(parent, panels) {
    for (const panel of panels) {
      const traces = [];
      panel.marks.forEach((mark, at) => {
        if (!mark) return;
        const look = { color: ink(at), symbol: symbol(at) }, name = data.labels[at], visible = shown.has(name);
        if (mark.ellipse) {
          const [xs, ys] = ellipse(mark.ellipse);
          traces.push({ type: "scatter", mode: "lines", x: xs, y: ys, visible, hoverinfo: "skip", line: { color: ink(at), width: 1.2 }, fill: "toself", opacity: .35 });
        }
        traces.push({ type: "scatter", mode: "markers", x: mark.runs[0], y: mark.runs[1], visible, hoverinfo: "skip", marker: { ...look, size: 4, opacity: .35 } });
        traces.push({
          name, type: "scatter", mode: "markers", x: [mark.median[0]], y: [mark.median[1]], visible, marker: { ...look, size: 10 },
          hovertemplate: `${escaped(name)}<br>%{x:.4~g} ms, %{y:.4~g} Mbit/s<extra></extra>`,
        });
      });
      const of = axis => panel.marks.flatMap(mark => mark ? mark.runs[axis] : []);
      const x = { ...scale(DELAY, of(0)), rangemode: "normal" }, y = { label: GOODPUT, ...apart(of(1)) };
      draw(parent, `Goodput over queueing delay, ${describe(panel)}`, traces, layout(describe(panel), x, y));
    }
  }

  function lines(rows, x, y) {
    return rows.flatMap((row, at) => row ? [{
      name: data.labels[at], type: "scatter", mode: "lines", visible: shown.has(data.labels[at]),
      x: x(row), y: y(row), line: { color: ink(at), width: 1.5 },
      hovertemplate: `${escaped(data.labels[at])}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>`,
    }] : []);
  }

  function curves(parent, panels) {
    for (const panel of panels) {
      for (const [key, label] of [["delays", DELAY], ["rates", GOODPUT]]) {
        const traces = lines(panel[key], row => row, () => data.quantiles);
        const x = key === "delays" ? scale(label, panel.delays.flatMap(row => row ? row.slice(5) : [])) : { label };
        const share = key === "delays" ? "Share of packets" : "Share of seconds";
        draw(parent, `${share} by ${label}, ${describe(panel)}`, traces, layout(describe(panel), x, { label: share, range: [0, 1.02] }));
      }
    }
  }

  function course(parent, rows) {
    for (const [key, label] of [["queue", "Queue, packets"], ["rate", GOODPUT]]) {
      const traces = lines(rows, row => row.time, row => row[key]);
      draw(parent, `${label} over time`, traces, layout("", { label: "Time, s" }, scale(label, [])));
    }
  }

  function ratios(parent, panels) {
    for (const panel of panels) {
      const traces = lines(panel.lines, () => panel.labels, line => line.map(point => point[0]));
      traces.forEach((trace, at) => Object.assign(trace, {
        mode: "lines+markers", marker: { symbol: symbol(at), size: 7, color: ink(at) },
        error_y: { type: "data", array: panel.lines[at].map(point => point[1]), thickness: 1.2, width: 3, color: ink(at) },
      }));
      const y = logarithmic(panel.title, panel.lines.flat().map(point => point[0]));
      draw(parent, `${panel.title} over ${panel.axis}`, traces, layout("", { label: panel.axis, type: "category" }, y));
    }
  }

  const kinds = { trades, curves, course, ratios };
  function fill(element) {
    const panels = data.tests[element.dataset.test][element.dataset.figure];
    if (panels) kinds[element.dataset.figure](clear(element), panels);
  }
  // What cannot be seen is drawn when it is opened, as the page has hundreds of figures.
  const elements = [...document.querySelectorAll("[data-figure]")];
  const near = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.children.length) fill(entry.target);
    }
  }, { rootMargin: "1200px" });
  legend(document.getElementById("legend"), () => {
    for (const element of elements) if (element.children.length) fill(element);
  });
  elements.forEach(element => near.observe(element));
})();

// The playground: a discipline that a reader writes, tried in a worker without a network.

import { Engine } from "./engine.js";
import { MODULE } from "./judge.js";
import { keep } from "./keep.js";
import * as state from "./state.js";
import { applyTheme, colour, make, part } from "./style.js";

/** @typedef {{ summary: Record<string, any>, tables: [string, Record<string, string>, Record<string, number[]>][] }} Ran */

const SILENT_MS = 10_000; // the suite is one call, and takes a second or two
const CODE = `// Drops at random, the more the longer the oldest packet has waited.
class Mine extends Discipline {
  // Parameters with their defaults.
  static parameters = { worst_ms: 200, limit: 1000 };

  setup() {
    this.queue = [];
  }

  enqueue(packet, now) {
    const wait = this.queue.length ? now - this.queue[0].queued : 0;
    if (this.queue.length >= this.limit) this.drop(packet, "overflow");
    else if (this.random() < wait / (this.worst_ms * 1e6)) this.drop(packet);
    else this.queue.push(packet);
  }

  dequeue(now) {
    return this.queue.shift();
  }
}
`;
const SCENARIO = `duration = "20s"
warmup = "5s"

[dumbbell]
rate = "10Mbit"
delay = "15ms"
queue = { kind = "codel" }

[[traffic]]
name = "downloads"
kind = "bulk"
flows = 3

[[traffic]]
name = "calls"
kind = "voice"
flows = 2
`;

/** @param {string} id */
const at = id => part(id, HTMLElement);
const code = part("code", HTMLTextAreaElement);
const text = part("text", HTMLTextAreaElement);
const runButton = part("run", HTMLButtonElement);
const cancelButton = part("cancel", HTMLButtonElement);
const engine = Engine.load(new URL(MODULE, import.meta.url));

/** @type {HTMLIFrameElement | null} */
let box = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let silence;
/** @type {Record<string, Ran>} */
let runs = {};

/** @param {string} name of a file beside the scripts */
async function beside(name) {
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response;
}

/** The text of the worker: scripts without their imports and exports. */
async function script() {
  const names = ["engine.js", "discipline.js", "play-worker.js"];
  const texts = await Promise.all(names.map(async name => (await beside(name)).text()));
  return texts
    .join("\n")
    .replace(/^import .*;$/gm, "")
    .replace(/^export /gm, "");
}

/** @param {string} words */
function end(words) {
  clearTimeout(silence);
  // With the frame its worker ends, whatever it does.
  box?.remove();
  box = null;
  at("state").textContent = words;
  runButton.disabled = false;
  cancelButton.disabled = true;
}

function wait() {
  clearTimeout(silence);
  silence = setTimeout(() => {
    const seconds = SILENT_MS / 1000;
    at("wrong").textContent =
      `A method did not return within ${seconds} s, and the run was ended. Look for a loop that has no end, or for memory that grows.`;
    end("It was ended.");
  }, SILENT_MS);
}

async function run() {
  end("It is being loaded.");
  at("wrong").textContent = "";
  at("result").hidden = true;
  runs = {};
  runButton.disabled = true;
  cancelButton.disabled = false;
  try {
    const scenario = (await engine).read(text.value);
    const [worker, bytes] = await Promise.all([
      script(),
      beside("playground.wasm").then(response => response.arrayBuffer()),
    ]);
    const frame = document.createElement("iframe");
    frame.sandbox.add("allow-scripts");
    frame.title = "Where the discipline runs";
    frame.src = new URL("box.html", document.baseURI).href;
    frame.addEventListener("load", () => {
      const work = { code: code.value, bytes, scenario };
      frame.contentWindow?.postMessage({ script: worker, work }, "*");
      wait();
    });
    box = frame;
    document.body.append(frame);
  } catch (error) {
    at("wrong").textContent = error instanceof Error ? error.message : String(error);
    end("It was not run.");
  }
}

addEventListener("message", ({ data, source }) => {
  if (!box || source !== box.contentWindow || typeof data !== "object" || data === null) return;
  wait();
  if ("error" in data) {
    at("wrong").textContent = String(data.error);
    end("It was ended.");
  } else if ("alive" in data) at("state").textContent = `Running: ${String(data.alive)}.`;
  else if ("broken" in data) {
    const broken = data.broken === null ? null : String(data.broken);
    at("conforms").textContent = broken
      ? `It breaks the contract: ${broken}`
      : "It keeps every contract of a discipline that the conformance suite checks.";
    at("conforms").className = broken ? "wrong" : "";
    at("result").hidden = false;
  } else if ("run" in data) runs[String(data.kind)] = data.run;
  else if ("ended" in data) {
    end("It has been run.");
    draw();
  }
});

const ROWS = /** @type {const} */ ([
  ["goodput_bps", "Goodput (kb/s)", 1e-3],
  ["p50_delay_ms", "Median delay (ms)", 1],
  ["p99_delay_ms", "99th percentile delay (ms)", 1],
  ["loss", "Loss (%)", 100],
  ["mos", "Voice quality (MOS)", 1],
]);
/** @type {[kind: string, label: string, colour: string][]} */
const LANES = [
  ["mine", "yours", "--d1"],
  ["codel", "CoDel", "--d2"],
];

/** @param {unknown} value */
const shown = value => (typeof value === "number" ? String(Number(value.toPrecision(4))) : "–");

function draw() {
  const head = ["Class", "Measure", ...LANES.map(([, label]) => label)];
  const classes = Object.keys(runs.mine?.summary.classes ?? {});
  const rows = classes.flatMap(name =>
    ROWS.map(([key, title, scale]) => {
      const values = LANES.map(([kind]) => runs[kind]?.summary.classes[name]?.[key]);
      if (values.every(each => typeof each !== "number")) return null;
      const cells = values.map(each => make("td", {}, shown(each * scale)));
      return make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, title), ...cells);
    }).filter(row => row !== null),
  );
  const heads = make("tr", {}, ...head.map(each => make("th", { scope: "col" }, each)));
  at("table").replaceChildren(
    make("table", {}, make("thead", {}, heads), make("tbody", {}, ...rows)),
  );
  chart();
}

/** The queue over time under both. */
function chart() {
  const canvas = part("chart", HTMLCanvasElement);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const ratio = devicePixelRatio;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  context.scale(ratio, ratio);
  const series = LANES.map(([kind]) => {
    const table = runs[kind]?.tables.find(
      each => each[0] === "queue" && !each[1].link?.endsWith("-reverse"),
    );
    return { times: table?.[2].time_s ?? [], values: table?.[2].mean_packets ?? [] };
  });
  const most = Math.max(1, ...series.flatMap(each => each.values));
  const last = Math.max(1, ...series.flatMap(each => each.times));
  context.strokeStyle = colour("--line");
  context.strokeRect(0.5, 0.5, width - 1, height - 1);
  for (const [at, { times, values }] of series.entries()) {
    const [, , shade] = /** @type {(typeof LANES)[number]} */ (LANES[at]);
    context.strokeStyle = colour(shade);
    context.lineWidth = 1.5;
    context.setLineDash(at ? [5, 3] : []);
    context.beginPath();
    for (const [index, time] of times.entries()) {
      const y = height - 4 - ((values[index] ?? 0) / most) * (height - 8);
      context.lineTo((time / last) * width, y);
    }
    context.stroke();
  }
  at("key").textContent =
    `Packets in the queue, 0 to ${shown(most)}, over ${shown(last)} s. Solid: yours. Dashed: CoDel.`;
}

const written = () => ({ code: code.value, text: text.value });

async function copy() {
  await state.hold(written());
  await navigator.clipboard.writeText(location.href).catch(() => undefined);
  at("said").replaceChildren(make("p", {}, "The address of this page is the link, and copied."));
}

/** Shows what a link holds. It runs nothing: that takes a click. */
async function open() {
  end("It has not been run.");
  /** @type {unknown} */
  let problem = "";
  const kept = await state.read(location.hash).catch(error => {
    problem = error;
    return null;
  });
  code.value = String(kept?.code ?? CODE);
  text.value = String(kept?.text ?? SCENARIO);
  if (kept) {
    at("state").textContent =
      "It has not been run. Somebody else may have written it: it runs when you press Run.";
  }
  wrong(problem);
}

/** @param {unknown} error */
const wrong = error => {
  at("wrong").textContent = error instanceof Error ? error.message : String(error);
};
part("form", HTMLFormElement).addEventListener("submit", event => {
  event.preventDefault();
  run();
});
cancelButton.addEventListener("click", () => end("It was cancelled."));
at("link").addEventListener("click", () => copy().catch(wrong));
addEventListener("hashchange", () => open().catch(wrong));
state.follow(part("form", HTMLFormElement), written);
applyTheme();
open().catch(wrong);
keep();

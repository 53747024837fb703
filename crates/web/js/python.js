// The Python package in a worker: it says what a comparison runs, judges it, and writes the report
// (crates/web/python). The interpreter is Pyodide's.

import { Engine } from "./engine.js";
import { loadPyodide } from "./pyodide/pyodide.mjs";

/** @typedef {"begin" | "finish" | "lanes"} Named */

/** @param {string} name */
const beside = name => new URL(name, import.meta.url);

/** @param {WebAssembly.Module} module */
async function open(module) {
  const [engine, python, packed] = await Promise.all([
    Engine.of(module),
    // Without it, a list of hundreds of packages would be loaded, none of which is needed.
    loadPyodide({ indexURL: beside("pyodide/").href, lockFileContents: LOCK }),
    fetch(beside("forebay.zip")).then(response => response.arrayBuffer()),
  ]);
  python.unpackArchive(packed, "zip", { extractDir: "/page" });
  python.registerJsModule("page", { ask: (/** @type {string} */ text) => engine.answer(text) });
  python.runPython(`
import sys
sys.path.insert(0, "/page")
import page, engine
engine.asked.append(page.ask)
sys.modules["forebay._engine"] = engine
import judge
`);
  return { engine, judge: python.pyimport("judge") };
}

const LOCK = JSON.stringify({
  info: {
    abi_version: "2026_0",
    arch: "wasm32",
    platform: "emscripten_5_0_3",
    python: "3.14.2",
    version: "314.0.7",
  },
  packages: {},
});

/** @type {ReturnType<typeof open> | undefined} */
let opened;

/** @param {unknown} error */
function words(error) {
  const text = error instanceof Error ? error.message : String(error);
  // A traceback ends with the type of the exception and its message.
  const last = text.trimEnd().split("\n").at(-1) ?? text;
  return last.replace(/^[\w.]*ScenarioError: /, "");
}

/**
 * @param {number} number of the question
 * @param {Named} name
 * @param {unknown} argument
 */
async function act(number, name, argument) {
  const { judge } = await /** @type {ReturnType<typeof open>} */ (opened);
  postMessage({ number, found: judge[name](argument) });
}

addEventListener("message", ({ data }) => {
  if ("module" in data) {
    opened = open(data.module);
    for (const { name, bytes } of data.files) opened.then(({ engine }) => engine.lend(name, bytes));
    return;
  }
  act(data.number, data.name, data.argument).catch(error => {
    postMessage({ number: data.number, error: words(error) });
  });
});

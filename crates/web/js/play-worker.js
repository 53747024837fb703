// Tries a discipline of a reader: the conformance suite, then a link beside CoDel. It runs in the
// worker of box.html, which has nothing but this text, engine.js and discipline.js before it.

import { Discipline, Host } from "./discipline.js";
import { Engine } from "./engine.js";

/**
 * The class in a text.
 * @param {string} code
 * @returns {typeof Discipline}
 */
function written(code) {
  const name = /class\s+(\w+)\s+extends\s+Discipline\b/.exec(code)?.[1];
  if (!name)
    throw new Error(
      "there is no class that extends Discipline: class Mine extends Discipline { ... }",
    );
  return new Function("Discipline", `"use strict";\n${code}\nreturn ${name};`)(Discipline);
}

/**
 * What a run of the scenario with a queue measured.
 * @param {Engine} engine
 * @param {Record<string, unknown>} scenario
 * @param {string} kind
 */
function measured(engine, scenario, kind) {
  const asked = { means: { with_queue: { scenario, link: null, queue: { kind } } } };
  const tree = JSON.parse(engine.ask(asked)).ok;
  engine.begin(tree, ["queue"]);
  for (;;) {
    const state = engine.advance();
    if ("summary" in state) return state;
    postMessage({ alive: `${kind}: ${Math.round(100 * state.share)} % of the run` });
  }
}

/**
 * @param {string} code
 * @param {ArrayBuffer} bytes of the module
 * @param {Record<string, unknown>} scenario
 */
async function attempt(code, bytes, scenario) {
  const host = new Host(written(code));
  const module = await WebAssembly.compile(bytes);
  const instance = await WebAssembly.instantiate(module, host.imports);
  host.begin(instance);
  const engine = new Engine(instance);
  engine.ask({ plug: host.plug });
  postMessage({ alive: "the conformance suite" });
  const broken = JSON.parse(engine.ask({ conforms: { kind: "mine" } })).ok;
  postMessage({ broken });
  for (const kind of ["codel", "mine"])
    postMessage({ kind, run: measured(engine, scenario, kind) });
  postMessage({ ended: true });
}

addEventListener("message", ({ data: { code, bytes, scenario } }) => {
  attempt(code, bytes, scenario).catch(error => postMessage({ error: String(error.message) }));
});

// Runs whole scenarios, one after the other.

import { Engine } from "./engine.js";

/** @type {Promise<Engine> | undefined} */
let loaded;

/**
 * @param {number} number of the task
 * @param {Record<string, unknown>} scenario
 * @param {string[]} tables
 */
async function run(number, scenario, tables) {
  const engine = await loaded;
  if (!engine) throw new Error("no engine was given");
  const began = performance.now();
  engine.begin(scenario, tables);
  for (;;) {
    const state = engine.advance();
    if ("summary" in state) {
      state.summary.cost = { cpu_seconds: (performance.now() - began) / 1000, threads: 1 };
      postMessage({ number, found: JSON.stringify(state) });
      return;
    }
    postMessage({ number, share: state.share });
  }
}

addEventListener("message", ({ data }) => {
  if ("module" in data) {
    loaded = Engine.of(data.module).then(engine => {
      for (const { name, bytes } of data.files) engine.lend(name, bytes);
      return engine;
    });
    return;
  }
  run(data.number, data.scenario, data.tables).catch(error => {
    postMessage({ error: error.message });
  });
});

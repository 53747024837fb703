// The engine as a WebAssembly module. What is asked for, and the answers, are JSON
// (crates/web/src/request.rs).

/**
 * @typedef {Record<string, any>} Table a scenario, or what a run measured
 * @typedef {[name: string, labels: Record<string, string>, columns: Record<string, number[]>]} Rows
 * @typedef {{ share: number } | { summary: Table, tables: Rows[] }} Progress
 * @typedef {{
 *   memory: WebAssembly.Memory,
 *   room: (bytes: number) => number,
 *   ask: () => number,
 *   answer: () => number,
 *   length: () => number,
 * }} Exports
 */

export class Engine {
  /** @type {Exports} */
  #module;

  /** The last answer. */
  #last = "";

  /** @param {WebAssembly.Instance} instance of the module, which imports nothing */
  constructor(instance) {
    this.#module = /** @type {Exports} */ (/** @type {unknown} */ (instance.exports));
  }

  /** @param {URL | string} address of the module */
  static async load(address) {
    return Engine.of(await Engine.compile(address));
  }

  /**
   * The compiled module, which can be posted to workers.
   * @param {URL | string} address
   */
  static async compile(address) {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
    const streams = response.headers.get("content-type") === "application/wasm";
    return streams
      ? WebAssembly.compileStreaming(response)
      : WebAssembly.compile(await response.arrayBuffer());
  }

  /** @param {WebAssembly.Module} module */
  static async of(module) {
    return new Engine(await WebAssembly.instantiate(module));
  }

  /**
   * A file for scenarios that read it.
   * @param {string} name as scenarios write it
   * @param {Uint8Array} bytes
   */
  lend(name, bytes) {
    this.ask({ lend: { name, bytes: [...bytes] } });
  }

  /**
   * The scenario in the text of a file.
   * @param {string} text TOML, or JSON
   * @param {boolean} [json]
   * @returns {Table}
   */
  read(text, json = false) {
    return JSON.parse(this.ask({ means: { load: { text, json } } })).ok;
  }

  /**
   * The summary of a whole run, as `forebay run --json` prints it.
   * @param {Table} scenario
   * @param {number} [seed] the scenario's own unless it is given
   * @returns {Table}
   */
  run(scenario, seed) {
    return JSON.parse(this.ask({ run: { scenario, seed: seed ?? null } })).ok;
  }

  /**
   * Begins a run, in place of one that there is.
   * @param {Table} scenario whose seed the run has
   * @param {string[]} [tables] names of the tables that are wanted: "queue", "class", "delay", ...
   */
  begin(scenario, tables = []) {
    this.ask({ begin: { scenario, tables } });
  }

  /**
   * Goes on with the run for some milliseconds: the share of it that is done, or what it measured.
   * @returns {Progress}
   */
  advance() {
    return JSON.parse(this.ask({ advance: {} })).ok;
  }

  /**
   * The answer to a request: JSON with a field `ok`.
   * @param {Table} request
   * @returns {string}
   */
  ask(request) {
    const text = this.answer(JSON.stringify(request));
    if (text.startsWith('{"error":')) throw new Error(JSON.parse(text).error);
    return text;
  }

  /**
   * The answer to a request: JSON with a field `ok`, or `error`.
   * @param {string} request as JSON
   * @returns {string}
   */
  answer(request) {
    const { memory, room, ask, answer, length } = this.#module;
    const bytes = new TextEncoder().encode(request);
    // Memory that grows becomes another buffer.
    const place = room(bytes.length);
    new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
    let failed = null;
    try {
      ask();
    } catch (error) {
      failed = error;
    }
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), length()));
    if (failed !== null) {
      // Without memory it cannot even say why: the answer is still the one before.
      const why = text === this.#last ? `${failed}; perhaps there was no more memory` : text;
      throw new Error(`the engine has failed: ${why}`);
    }
    this.#last = text;
    return text;
  }
}

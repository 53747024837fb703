// Comparisons in the page: the Python package says what is run, the page's workers run it, and the
// package judges what they found (python.js, runs.js).

import { Engine } from "./engine.js";
import { run } from "./runs.js";

/**
 * @typedef {import("./runs.js").Lent} Lent
 * @typedef {{ labels: string[], link: string, replications: number, tasks: import("./runs.js").Task[] }} Begun
 * @typedef {{ summary: Record<string, any>, message: import("../../../python/forebay/_explore/page/messages.js").Compared, report: string }} Found
 * @typedef {(share: number, begun: Begun) => void} Tell
 */

/** The name of the module beside the scripts. */
export const MODULE = "forebay.wasm";

export class Judge {
  /** @type {Promise<WebAssembly.Module> | undefined} */
  #module;
  /** @type {Promise<Worker> | undefined} */
  #worker;
  #files;
  #number = 0;
  /** @type {Map<number, { resolve: (found: any) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();
  #busy = false;
  /** @type {Error | null} */
  #failed = null;

  /** @param {Lent[]} [files] for scenarios that read them */
  constructor(files = []) {
    this.#files = files;
  }

  /**
   * Compares, as `forebay compare` does.
   * @param {Record<string, unknown>} asked as `begin` of crates/web/python/judge.py takes it
   * @param {Tell} tell hears how much is done, 0 to 1
   * @param {AbortSignal} signal
   * @returns {Promise<Found>}
   */
  async compare(asked, tell, signal) {
    if (this.#busy) throw new Error("a comparison is being run; wait for its end, or cancel it");
    this.#busy = true;
    try {
      /** @type {Begun} */
      const begun = JSON.parse(await this.#ask("begin", JSON.stringify(asked), signal));
      tell(0, begun);
      const module = await /** @type {Promise<WebAssembly.Module>} */ (this.#module);
      // The last part is left for the judgement.
      const told = (/** @type {number} */ share) => tell(0.99 * share, begun);
      const found = await run(module, begun.tasks, this.#files, told, signal);
      const judged = JSON.parse(await this.#ask("finish", found, signal));
      tell(1, begun);
      return judged;
    } finally {
      this.#busy = false;
    }
  }

  /**
   * The disciplines that are shown side by side of a scenario.
   * @param {{ scenario: Record<string, unknown>, name: string }} asked
   * @returns {Promise<unknown[]>}
   */
  async lanes(asked) {
    return JSON.parse(await this.#ask("lanes", JSON.stringify(asked)));
  }

  /**
   * @param {import("./python.js").Named} name
   * @param {unknown} argument
   * @param {AbortSignal} [signal] the answer is not waited for any longer
   * @returns {Promise<string>}
   */
  async #ask(name, argument, signal) {
    this.#worker ??= this.#open();
    const worker = await this.#worker;
    if (this.#failed) throw this.#failed;
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      signal?.addEventListener("abort", () => reject(signal.reason));
      if (signal?.aborted) reject(signal.reason);
      worker.postMessage({ number, name, argument });
    });
  }

  async #open() {
    this.#module ??= Engine.compile(new URL(MODULE, import.meta.url));
    const worker = new Worker(new URL("python.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data: { number, found, error } }) => {
      const { resolve, reject } = this.#waiting.get(number) ?? {};
      this.#waiting.delete(number);
      if (error === undefined) resolve?.(found);
      else reject?.(new Error(error));
    };
    this.#failed = null;
    worker.onerror = event => {
      // A script that cannot be loaded is an event without words.
      const words =
        event.message || "Python cannot be loaded, or is not kept for use without a network";
      this.#failed = new Error(words);
      // The next question tries again.
      this.#worker = undefined;
      for (const { reject } of this.#waiting.values()) reject(this.#failed);
      this.#waiting.clear();
    };
    worker.postMessage({ module: await this.#module, files: this.#files });
    return worker;
  }
}

/**
 * Shows a report in a window, which `report.html` makes of what its opener keeps.
 * @param {string} report
 * @param {Window | null} [opened] a window that is there already
 */
export function show(report, opened = window.open("", "_blank")) {
  /** @type {any} */ (window).forebayReport = report;
  if (opened) opened.location.href = new URL("report.html", document.baseURI).href;
}

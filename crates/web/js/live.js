// The engine in the page, in the place of the connection to a server: messages to a worker and back.

import { Judge } from "./judge.js";
import { keep } from "./keep.js";
import * as state from "./state.js";

/**
 * @import { Message, Send } from "../../../python/forebay/_explore/page/messages.js"
 * @import { Client, Handlers } from "../../../python/forebay/_explore/page/client.js"
 * @import { Found } from "./judge.js"
 * @typedef {{ lanes: [label: string, scenario: unknown][], watched: string | null }} Lanes
 */

/** @param {string} name of a file beside the page */
const read = async name => {
  const response = await fetch(new URL(name, document.baseURI));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response;
};

/** @param {string[]} names of files that a scenario reads */
const lent = names =>
  Promise.all(
    names.map(async name => {
      const bytes = new Uint8Array(await (await read(`files/${name}`)).arrayBuffer());
      return { name, bytes };
    }),
  );

const RUNS = 10; // of a report without a comparison

/** @implements {Client} */
export class Live {
  compares = true;
  #worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  #handlers;
  /** @type {import("./runs.js").Lent[]} */
  #files = [];
  /** @type {Judge | undefined} */
  #judge;
  #running = new AbortController();
  /** @type {{ of: string, found: Found } | null} */
  #found = null;
  /** @type {(lanes: Lanes) => void} */
  #lanes = () => {};

  /** @param {Handlers} handlers hear of messages */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#worker.onmessage = ({ data }) => {
      const { ok, lanes } = JSON.parse(data);
      if (lanes) this.#lanes(lanes);
      else ok.forEach(this.#take);
    };
    this.#worker.onerror = event => this.#say(event.message);
    this.#open().catch(error => this.#say(error.message));
    keep();
  }

  /** @type {Send} */
  send = (type, ...[fields]) => {
    if (type === "compare") this.#beside(false, /** @type {any} */ (fields)?.runs ?? RUNS);
    else if (type === "report") this.#beside(true, RUNS);
    else this.#worker.postMessage({ type, text: JSON.stringify({ type, ...fields }) });
    return true;
  };

  cancel = () => this.#running.abort(new Error("cancelled"));

  // The address names a scenario or holds one; without any, or if it is wrong, the first story is
  // told.
  async #open() {
    const name = new URLSearchParams(location.search).get("scenario");
    const none = (/** @type {Error} */ error) => {
      this.#say(error.message);
      return null;
    };
    const [stories, chosen, held] = await Promise.all([
      read("stories.json").then(response => response.json()),
      name === null
        ? null
        : read(`scenarios/${encodeURIComponent(name)}.json`)
            .then(each => each.json())
            .catch(none),
      state.read(location.hash).catch(none),
    ]);
    const [{ scenario, name: story, lanes: queues, link }] = stories;
    const told = { scenario, name: `${story}.toml`, queues, link, plays: false };
    const asked = new URLSearchParams(location.hash.slice(1));
    const steps = stories.find(
      (/** @type {any} */ each) => each.name === asked.get("story"),
    )?.steps;
    const there = steps?.[Number(asked.get("step")) - 1] !== undefined;
    if (asked.has("story") && !there) {
      this.#say(`There is no step ${asked.get("step")} of a story "${asked.get("story")}".`);
    }
    if ((chosen ?? held) === null && !there) {
      history.replaceState(null, "", `#story=${story}&step=1`);
    }
    // Of a link, only what a scenario has is taken; it is data, never code.
    const own = held && { ...held, link: null, plays: true, files: [] };
    const { files = [], ...stage } = own ?? chosen ?? told;
    this.#files = await lent(own ? await everyFile() : files);
    this.#worker.postMessage({ stage: { ...stage, stories }, files: this.#files });
  }

  /**
   * Compares the lanes as they are, or makes a report of them.
   * @param {boolean} reports
   * @param {number} runs
   */
  async #beside(reports, runs) {
    try {
      const { lanes, watched } = await this.#shown();
      this.#running = new AbortController();
      const of = JSON.stringify([lanes, watched]);
      if (this.#found?.of !== of || !reports) {
        this.#judge ??= new Judge(this.#files);
        this.#tell(reports, runs, lanes, 0);
        const asked = { lanes, watched, runs, name: "scenario.toml" };
        const found = await this.#judge.compare(
          asked,
          share => this.#tell(reports, runs, lanes, share),
          this.#running.signal,
        );
        this.#found = { of, found };
      }
      const { found } = /** @type {{ found: Found }} */ (this.#found);
      if (!reports) return this.#take(found.message);
      /** @type {any} */ (window).forebayReport = found.report;
      const address = new URL("report.html", document.baseURI).href;
      this.#take({ type: "reported", done: 1, address });
    } catch (error) {
      this.#tell(reports, runs, [], -1);
      if (!this.#running.signal.aborted)
        this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * @param {boolean} reports
   * @param {number} runs
   * @param {Lanes["lanes"]} lanes
   * @param {number} share below 1; below 0 when it has ended without a result
   */
  #tell(reports, runs, lanes, share) {
    const done = Math.min(share, 0.99);
    if (reports && done >= 0) this.#take({ type: "reported", done, address: null });
    if (reports) return;
    const labels = lanes.map(([label]) => label);
    const none = { rows: [], advice: null, marked: "" };
    this.#take({ type: "compared", runs, lanes: labels, done, ...none });
  }

  /** @returns {Promise<Lanes>} */
  #shown() {
    return new Promise(resolve => {
      this.#lanes = resolve;
      this.#worker.postMessage({ lanes: true });
    });
  }

  /** @param {string} text */
  #say(text) {
    this.#handlers.said({ type: "said", level: "error", text, field: null });
  }

  /** @param {Message} message */
  #take = message => {
    const handle = /** @type {(message: Message) => void} */ (this.#handlers[message.type]);
    handle(message);
  };
}

/** The names of all files that examples read. */
async function everyFile() {
  /** @type {{ files: string[] }[]} */
  const examples = await (await read("scenarios.json")).json();
  return [...new Set(examples.flatMap(each => each.files))];
}

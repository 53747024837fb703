// The engine in the page, in the place of the connection to a server: messages to a worker and back.

/**
 * @import { Message, Send } from "../../../python/forebay/_explore/page/messages.js"
 * @import { Client, Handlers } from "../../../python/forebay/_explore/page/client.js"
 */

/** @param {string} name of a file beside the page */
const read = async name => {
  const response = await fetch(new URL(name, document.baseURI));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response.json();
};

/** @implements {Client} */
export class Live {
  compares = false;
  #worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  #handlers;

  /** @param {Handlers} handlers hear of messages */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#worker.onmessage = ({ data }) => JSON.parse(data).ok.forEach(this.#take);
    this.#worker.onerror = event => this.#say(event.message);
    this.#open().catch(error => this.#say(error.message));
  }

  /** @type {Send} */
  send = (type, ...[fields]) => {
    this.#worker.postMessage({ type, text: JSON.stringify({ type, ...fields }) });
    return true;
  };

  // The address names a scenario; without one, the first story is told.
  async #open() {
    const name = new URLSearchParams(location.search).get("scenario");
    const [stories, chosen] = await Promise.all([
      read("stories.json"),
      name === null ? null : read(`scenarios/${encodeURIComponent(name)}.json`),
    ]);
    const [{ scenario, name: story, lanes: queues, link }] = stories;
    const told = { scenario, name: `${story}.toml`, queues, link, plays: false };
    if (chosen === null && !location.hash) {
      history.replaceState(null, "", `#story=${story}&step=1`);
    }
    this.#worker.postMessage({ stage: { ...(chosen ?? told), stories } });
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

// The connection to the server: messages out, messages in, and again when it breaks.

/**
 * @import { Message, Send } from "./messages.js"
 * @import { Client, Handlers } from "./client.js"
 */

const RETRY_MS = [300, 1000, 3000];

/** @implements {Client} */
export class Live {
  compares = true;
  /** @type {WebSocket | null} */
  #socket = null;
  #failed = 0;
  #handlers;
  #status;

  /**
   * @param {Handlers} handlers hear of messages
   * @param {(status: "open" | "lost") => void} status hears of the connection
   */
  constructor(handlers, status) {
    this.#handlers = handlers;
    this.#status = status;
    this.#connect();
  }

  /** @type {Send} */
  send = (type, ...[fields]) => {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ type, ...fields }));
    return true;
  };

  #connect() {
    const address = new URL(`live${location.search}`, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.hash = "";
    const socket = new WebSocket(address);
    socket.onopen = () => {
      this.#socket = socket;
      this.#failed = 0;
      this.#status("open");
    };
    socket.onmessage = event => this.#take(JSON.parse(event.data));
    socket.onclose = () => {
      this.#status("lost");
      const wait = RETRY_MS[Math.min(this.#failed++, RETRY_MS.length - 1)];
      setTimeout(() => this.#connect(), wait);
    };
  }

  /** @param {Message} message */
  #take(message) {
    const handle = /** @type {(message: Message) => void} */ (this.#handlers[message.type]);
    handle(message);
  }
}

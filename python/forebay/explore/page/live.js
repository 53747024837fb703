// The connection to the server: messages out, messages in, and again when it breaks.

const RETRY_MS = [300, 1000, 3000];

export class Live {
  #socket = null;
  #failed = 0;
  #handlers;
  #status;

  // `handlers` has a function for each type of message; `status` hears of "open" and "lost".
  constructor(handlers, status) {
    this.#handlers = handlers;
    this.#status = status;
    this.#connect();
  }

  send(type, fields = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ type, ...fields }));
    return true;
  }

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
    socket.onmessage = event => {
      const message = JSON.parse(event.data);
      this.#handlers[message.type]?.(message);
    };
    socket.onclose = () => {
      this.#status("lost");
      const wait = RETRY_MS[Math.min(this.#failed++, RETRY_MS.length - 1)];
      setTimeout(() => this.#connect(), wait);
    };
  }
}

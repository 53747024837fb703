// Browsers start no worker from a file. On a page that is opened as a file, an invisible frame runs
// the worker's script instead, so that the search works without a server.

class FrameWorker extends EventTarget {
  #inside;
  #loaded;

  /** @param {string | URL} address of the script */
  constructor(address) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inside = /** @type {Window & typeof globalThis} */ (frame.contentWindow);
    /** @param {unknown} data what the script says */
    inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
    const script = inside.document.createElement("script");
    this.#inside = inside;
    this.#loaded = new Promise((done, failed) => {
      script.onload = done;
      script.onerror = failed;
    });
    script.src = new URL(address, location.href).href;
    inside.document.body.append(script);
  }

  /** @param {unknown} data what the script is told */
  async postMessage(data) {
    await this.#loaded;
    this.#inside.dispatchEvent(new this.#inside.MessageEvent("message", { data }));
  }
}

if (location.protocol === "file:") {
  window.Worker = /** @type {typeof Worker} */ (/** @type {unknown} */ (FrameWorker));
}

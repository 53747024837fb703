// The service worker of the folder: keeps its files, so that the pages work without a network after
// the first visit. `KEPT` is written above by tools/try_it.py: which files, and their version.

/** @typedef {{ waitUntil: (done: Promise<unknown>) => void }} Lasting */
/** @typedef {{ request: Request, respondWith: (answer: Promise<Response>) => void }} Asked */

(worker => {
  const cache = `forebay-${KEPT.version}`;

  const MISSING = new Response(null, {
    status: 503,
    statusText: "not kept for use without a network",
  });

  /** @param {Lasting} event */
  const install = event => {
    const store = async () => (await caches.open(cache)).addAll(KEPT.first);
    event.waitUntil(store().then(() => worker.skipWaiting()));
  };

  /** @param {Lasting} event */
  const activate = event => {
    const clean = async () => {
      for (const name of await caches.keys()) {
        if (name.startsWith("forebay-") && name !== cache) await caches.delete(name);
      }
      await worker.clients.claim();
    };
    event.waitUntil(clean());
  };

  /**
   * What is kept, or else what the network has, which is kept from then on.
   * @param {Request} request
   */
  const answer = async request => {
    const address = new URL(request.url);
    if (address.pathname.endsWith("/")) address.pathname += "index.html";
    const kept = await caches.match(address.href, { ignoreSearch: true, cacheName: cache });
    if (kept) return kept;
    const response = await fetch(request).catch(() => MISSING.clone());
    if (response.ok) (await caches.open(cache)).put(request, response.clone());
    return response;
  };

  /** @param {Asked} event */
  const fetched = event => {
    const { method, url } = event.request;
    if (method === "GET" && url.startsWith(worker.registration.scope)) {
      event.respondWith(answer(event.request));
    }
  };

  worker.addEventListener("install", install);
  worker.addEventListener("activate", activate);
  worker.addEventListener("fetch", fetched);
})(/** @type {any} */ (self));

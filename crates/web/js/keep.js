// Keeps the pages for the time without a network.

const LATER_MS = 2000; // when what the page shows has been loaded

/** Begins when the page is at rest. A browser that cannot keep them shows them all the same. */
export function keep() {
  const register = () =>
    navigator.serviceWorker?.register(new URL("../offline.js", import.meta.url));
  setTimeout(() => register()?.catch(() => undefined), LATER_MS);
}

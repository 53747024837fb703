// The state of a page in the fragment of its address: JSON, compressed, in letters that addresses
// have. It is never sent to a server.

const MOST = 1 << 20; // characters of JSON; more is not opened

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {GenericTransformStream} through
 */
const through = async (bytes, through) => {
  const stream = new Blob([bytes]).stream().pipeThrough(through);
  const reader = stream.getReader();
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > 4 * MOST) throw new Error("it is too long");
    chunks.push(value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
};

/**
 * The fragment for a state, without "#".
 * @param {unknown} state
 */
export async function written(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  const letters = Array.from(packed, byte => String.fromCharCode(byte)).join("");
  return `s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/**
 * Puts a state into the address.
 * @param {unknown} state
 */
export async function hold(state) {
  history.replaceState(null, "", `#${await written(state)}`);
}

/**
 * Puts what is written in a form into the address soon after each change, so that a reload loses nothing.
 * @param {HTMLFormElement} form
 * @param {() => unknown} current
 */
export function follow(form, current) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  form.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLSelectElement) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => hold(current()), 300);
  });
}

/**
 * The state in a fragment; null if there is none.
 * @param {string} fragment
 * @returns {Promise<Record<string, unknown> | null>}
 */
export async function read(fragment) {
  const found = /^#?s=(.*)$/.exec(fragment);
  if (!found) return null;
  try {
    const letters = atob((found[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(letters, letter => letter.charCodeAt(0));
    const bytes = await through(packed, new DecompressionStream("deflate-raw"));
    const state = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof state === "object" && state !== null && !Array.isArray(state)) return state;
  } catch {
    // Whatever is wrong, the remedy is the same.
  }
  throw new Error("the link is damaged: it was cut off or changed; ask for it again, as a whole");
}

// Plays a stage in a thread of its own: takes what the page asks for, and posts what it is to show.

import { Engine } from "./engine.js";

/** @typedef {{ type: string, text: string }} Asked */

/** Of several of a kind in a row, the last one alone is done. */
const LAST = new Set(["seek", "speed"]);

/** @type {Engine | null} */
let engine = null;
/** @type {Asked[]} */
const asked = [];
/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;

const now = () => performance.now() / 1000;

/** @param {unknown} error */
const say = error => {
  const text = error instanceof Error ? error.message : String(error);
  postMessage(JSON.stringify({ ok: [{ type: "said", level: "error", text, field: null }] }));
};

/**
 * Posts the messages that are the answer to a request.
 * @param {Record<string, unknown>} request
 */
function show(request) {
  const answer = engine?.ask(request);
  if (answer !== undefined && answer !== '{"ok":[]}') postMessage(answer);
}

function work() {
  next = undefined;
  const began = now();
  const message = asked.shift();
  try {
    if (message) show({ tell: { message: message.text } });
  } catch (error) {
    say(error);
  }
  try {
    const wait = JSON.parse(engine?.ask({ turn: { now: began } }) ?? "{}").ok;
    show({ show: { now: now() } });
    if (asked.length) soon(0);
    else if (wait !== null) soon(wait - (now() - began));
  } catch (error) {
    say(error);
  }
}

/** @param {number} seconds */
function soon(seconds) {
  clearTimeout(next);
  next = setTimeout(work, Math.max(0, 1000 * seconds));
}

/**
 * @param {Record<string, unknown>} stage
 * @param {import("./runs.js").Lent[]} files
 */
async function open(stage, files) {
  engine = await Engine.load(new URL("forebay.wasm", import.meta.url));
  for (const { name, bytes } of files) engine.lend(name, bytes);
  show({ stage });
  soon(0);
}

addEventListener("message", ({ data }) => {
  if ("stage" in data) {
    open(data.stage, data.files).catch(say);
    return;
  }
  if ("lanes" in data) {
    postMessage(engine?.ask({ lanes: {} }).replace('{"ok":', '{"lanes":'));
    return;
  }
  if (LAST.has(data.type) && asked.at(-1)?.type === data.type) asked.pop();
  asked.push(data);
  if (engine) soon(0);
});

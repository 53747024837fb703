// The page that compares a scenario: one of the examples, or one that is pasted.

import * as compared from "./compared.js";
import { Engine } from "./engine.js";
import { Judge, MODULE, show } from "./judge.js";
import { keep } from "./keep.js";
import * as state from "./state.js";
import { applyTheme, make, part } from "./style.js";

/** @import { Found } from "./judge.js" */
/** @typedef {{ name: string, title: string, files: string[] }} Example */

const FIRST = "household";

/** @param {string} id */
const at = id => part(id, HTMLElement);
const text = part("text", HTMLTextAreaElement);
const chosen = part("chosen", HTMLSelectElement);
const disciplines = part("disciplines", HTMLInputElement);
const replications = part("replications", HTMLInputElement);
const compareButton = part("compare", HTMLButtonElement);
const cancelButton = part("cancel", HTMLButtonElement);

/** @type {Judge | undefined} */
let judge;
/** @type {AbortController | null} */
let running = null;
/** @type {Found | null} */
let found = null;
/** @type {Example[]} */
let examples = [];

/** @param {string} name of a file beside the page */
async function read(name) {
  const response = await fetch(new URL(name, document.baseURI));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response;
}

/** @param {unknown} error */
function wrong(error) {
  at("text-wrong").textContent = error instanceof Error ? error.message : String(error);
}

const engine = Engine.load(new URL(MODULE, import.meta.url));

/** The files that examples read; a scenario that is pasted may read them, too. */
async function files() {
  const names = [...new Set(examples.flatMap(each => each.files))];
  return Promise.all(
    names.map(async name => {
      const bytes = new Uint8Array(await (await read(`files/${name}`)).arrayBuffer());
      return { name, bytes };
    }),
  );
}

/** The scenario that is written, and what is to be compared in it. */
async function asked() {
  const isJson = text.value.trimStart().startsWith("{");
  const scenario = (await engine).read(text.value, isJson);
  const listed = disciplines.value.split(",").map(each => each.trim());
  const names = listed.filter(each => each !== "");
  return {
    scenario,
    name: "scenario.toml",
    replications: replications.valueAsNumber || null,
    ...(names.length ? { disciplines: names } : {}),
  };
}

async function compare() {
  wrong("");
  running = new AbortController();
  const { signal } = running;
  compareButton.disabled = true;
  cancelButton.disabled = false;
  for (const id of ["nothing", "results", "compared"]) at(id).hidden = true;
  at("progress").hidden = false;
  progress(0, "Python is being loaded");
  try {
    const wanted = await asked();
    judge ??= new Judge(await files());
    found = await judge.compare(
      wanted,
      (share, { labels, replications: runs, link }) => {
        const words = `${labels.length} disciplines on ${link}, ${runs} replications of each`;
        progress(share, share < 0.99 ? words : "The report is being written");
      },
      signal,
    );
    compared.draw(at("compared"), found.message);
    offer("save-report", found.report, "text/html");
    offer("save-summary", JSON.stringify(found.summary, null, 2), "application/json");
    at("results").hidden = false;
  } catch (error) {
    if (!signal.aborted) wrong(error);
    at("nothing").hidden = false;
  }
  at("progress").hidden = true;
  compareButton.disabled = false;
  cancelButton.disabled = true;
  running = null;
}

/**
 * @param {number} share
 * @param {string} words
 */
function progress(share, words) {
  part("bar", HTMLProgressElement).value = share;
  const said = `${Math.round(100 * share)} %: ${words}`;
  if (at("state").textContent !== said) at("state").textContent = said;
}

/**
 * @param {string} id of a link
 * @param {string} content of the file that it saves
 * @param {string} type
 */
function offer(id, content, type) {
  const link = part(id, HTMLAnchorElement);
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([content], { type }));
}

const written = () => ({
  text: text.value,
  disciplines: disciplines.value,
  replications: replications.valueAsNumber || 10,
});

async function copy() {
  await state.hold(written());
  await navigator.clipboard.writeText(location.href).catch(() => undefined);
  at("said").replaceChildren(make("p", {}, "The address of this page is the link, and copied."));
}

async function watch() {
  wrong("");
  try {
    const { scenario } = await asked();
    // Who comes back finds what they have written.
    await state.hold(written());
    judge ??= new Judge(await files());
    const queues = await judge.lanes({ scenario, name: "scenario.toml" });
    const fragment = await state.written({ scenario, name: "scenario.toml", queues });
    location.href = new URL(`index.html#${fragment}`, document.baseURI).href;
  } catch (error) {
    wrong(error);
  }
}

async function choose() {
  text.value = await (await read(`scenarios/${chosen.value}.toml`)).text();
  wrong("");
}

async function open() {
  examples = await (await read("scenarios.json")).json();
  chosen.replaceChildren(
    ...examples.map(({ name, title }) => make("option", { value: name }, `${name}: ${title}`)),
  );
  const named = new URLSearchParams(location.search).get("scenario") ?? FIRST;
  const known = examples.some(each => each.name === named);
  chosen.value = known ? named : FIRST;
  /** @type {unknown} */
  let problem = known ? "" : `There is no scenario "${named}"; the list has those that there are.`;
  const kept = await state.read(location.hash).catch(error => {
    problem = error;
    return null;
  });
  if (kept === null) {
    await choose();
  } else {
    text.value = String(kept.text ?? "");
    disciplines.value = String(kept.disciplines ?? "");
    replications.value = String(kept.replications ?? 10);
  }
  wrong(problem);
}

part("form", HTMLFormElement).addEventListener("submit", event => {
  event.preventDefault();
  if (!running) compare();
});
chosen.addEventListener("change", () => {
  history.replaceState(null, "", `?scenario=${chosen.value}`);
  choose().catch(wrong);
});
cancelButton.addEventListener("click", () => running?.abort(new Error("cancelled")));
at("report").addEventListener("click", () => found && show(found.report));
at("link").addEventListener("click", () => copy().catch(wrong));
at("watch").addEventListener("click", watch);
addEventListener("hashchange", () => open().catch(wrong));
state.follow(part("form", HTMLFormElement), written);
applyTheme();
open().catch(wrong);
keep();

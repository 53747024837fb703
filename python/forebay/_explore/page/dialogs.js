// What opens over the page: keys, stories, a packet's story, saved files; and messages above it.

import { button, make, part } from "./style.js";
import * as units from "./units.js";

/** @import { SavedFile, Said, Stage, Step, Story, StoryOf, StoryPlace } from "./messages.js" */

const dialog = part("dialog", HTMLDialogElement);

/**
 * @param {string} title
 * @param {...HTMLElement} content
 */
function open(title, ...content) {
  const close = button("×", () => dialog.close(), {
    className: "icon close",
    "aria-label": "Close",
  });
  dialog.replaceChildren(make("h2", { id: "dialog-title" }, title), close, ...content);
  if (!dialog.open) dialog.showModal();
}

dialog.addEventListener("click", event => {
  if (event.target === dialog) dialog.close();
});

export const isOpen = () => dialog.open;

/**
 * @param {[key: string, what: string][]} entries
 * @param {boolean} enabled whether keys act
 * @param {(enabled: boolean) => void} onEnabled
 */
export function keys(entries, enabled, onEnabled) {
  const box = make("input", { type: "checkbox", checked: enabled });
  box.addEventListener("change", () => onEnabled(box.checked));
  const list = make("dl", { className: "pairs" });
  for (const [key, what] of entries) {
    list.append(make("dt", {}, make("kbd", {}, key)), make("dd", {}, what));
  }
  open("Keys", list, make("label", {}, box, " Single keys act"));
}

/**
 * @param {Story[]} list
 * @param {StoryPlace | null} told
 * @param {(name: string, step: number) => void} tell
 */
export function stories(list, told, tell) {
  const cards = list.map(story => {
    const card = make(
      "button",
      { type: "button" },
      make("b", {}, story.title),
      make("span", {}, `${story.question} ${story.steps.length} steps.`),
    );
    if (story.name === told?.name) card.setAttribute("aria-current", "true");
    card.addEventListener("click", () => {
      dialog.close();
      tell(story.name, 0);
    });
    return make("li", {}, card);
  });
  open("Guided stories", make("ul", { className: "cards" }, ...cards));
}

/** @type {Record<Step["what"], string>} */
const WHAT = {
  sent: "Sent by",
  queued: "Joins the queue of",
  dropped: "Dropped at",
  marked: "Marked at",
  transmitted: "Transmitted on",
  lost: "Lost on",
  delivered: "Delivered to",
};
const KINDS = { ack: "an acknowledgment", control: "a control packet", data: "data" };

/**
 * @param {StoryOf} told
 * @param {Stage} stage
 */
export function packet(told, stage) {
  const flow = stage.flows[told.flow];
  const lane = stage.lanes.find(each => each.id === told.lane);
  const way = told.steps.flatMap(step => stage.links.find(link => link.name === step.where) ?? []);
  const name = flow?.name ?? "a flow";
  const ends = {
    sent: way[0]?.source ?? name,
    delivered: way.at(-1)?.target ?? name,
    lost: "the way",
  };
  const whose = `${told.bytes} B of ${name}`;
  open(
    `Packet ${told.id}`,
    make("p", {}, `${whose}, ${KINDS[told.kind]}, under ${lane?.label ?? "?"}.`),
    told.steps.length
      ? make("ol", { className: "life" }, ...told.steps.map(step => stepOf(step, ends)))
      : make("p", {}, "That is so long ago that nothing is kept of it."),
    make("p", { className: "small" }, told.ended ? "That is its end." : "It is still under way."),
  );
}

/**
 * @param {Step} step
 * @param {Partial<Record<Step["what"], string>>} ends where it is without a link
 */
function stepOf(step, ends) {
  let words = `${WHAT[step.what]} ${step.where || ends[step.what]}`;
  if (step.waiting !== null) words += `, where ${units.count(step.waiting, "packet")} waited`;
  if (step.why) words += `: ${units.reasonText(step.why)}`;
  const item = make("li", {}, make("time", {}, `${(step.at_ns / 1e9).toFixed(6)} s`), words);
  const variables = Object.entries(step.variables).map(
    ([name, value]) => `${name.replaceAll("_", " ")} ${units.plain(value)}`,
  );
  if (variables.length) item.append(make("div", { className: "small" }, variables.join(" · ")));
  return item;
}

/**
 * @param {SavedFile[]} files
 * @param {Stage} stage
 */
export function saved(files, stage) {
  const sections = files.map(file => {
    const label = stage.lanes.find(each => each.id === file.lane)?.label;
    const address = URL.createObjectURL(new Blob([file.text], { type: "text/plain" }));
    const link = make("a", { href: address, download: file.path.split("/").pop() }, "Download");
    /** @type {(title: string, code: HTMLElement) => HTMLElement} */
    const small = (title, code) => make("p", { className: "small" }, `${title}: `, code);
    const section = make(
      "section",
      {},
      make("h3", {}, label ?? ""),
      make("p", {}, make("code", {}, file.path), " · ", link),
      small("The same again", make("code", {}, `forebay run ${file.path}`)),
    );
    if (file.fingerprint) {
      const code = make("code", { className: "fingerprint" }, file.fingerprint);
      section.append(small("Fingerprint", code));
    }
    const of = { tabIndex: 0, "aria-label": `Scenario of ${label ?? "this lane"}` };
    section.append(make("pre", of, file.text));
    return section;
  });
  open("Saved, with every change", ...sections);
}

/**
 * Why packets waited or were dropped.
 * @param {string} title
 * @param {string[][]} parts as `Explained` has them
 */
export function explained(title, [seen, [cause, ...also], tried, others]) {
  /** @type {(text: string) => HTMLElement} */
  const paragraph = text => make("p", {}, text);
  /** @type {(text: string) => HTMLElement} */
  const item = text => make("li", {}, text);
  open(
    title,
    ...seen.map(paragraph),
    make("p", {}, make("b", {}, cause)),
    ...also.map(paragraph),
    make("h3", {}, "The same run without"),
    make("ul", {}, ...tried.map(item)),
    ...others.map(paragraph),
  );
}

/** @param {string} where */
export function address(where) {
  const link = make("a", { href: where, target: "_blank", rel: "noopener" }, "Open the report");
  open("The report", make("p", {}, link));
}

/** Messages above the page. What is said of a field appears beside it, too. */
export class Messages {
  #host;

  /** @param {HTMLElement} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * @param {Said["level"]} level
   * @param {string} text
   * @param {string} key of messages with the same key only the last is shown
   */
  say(level, text, key = text) {
    this.hush(key);
    const line = make("p", { className: level }, make("span", {}, text));
    line.dataset.key = key;
    line.append(button("×", () => line.remove(), { className: "plain", "aria-label": "Dismiss" }));
    this.#host.append(line);
    while (this.#host.children.length > 3) this.#host.firstElementChild?.remove();
    if (level === "info") setTimeout(() => line.remove(), 8000);
  }

  /** @param {string} key */
  hush(key) {
    for (const line of [...this.#host.children]) {
      if (line instanceof HTMLElement && line.dataset.key === key) line.remove();
    }
  }
}

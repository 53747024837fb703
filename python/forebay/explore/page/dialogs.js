// What opens over the page: keys, stories, a packet's story, saved files; and messages above it.

import { reasonText } from "./picture.js";
import { make } from "./style.js";
import * as units from "./units.js";

const dialog = document.getElementById("dialog");

function open(title, ...content) {
  const close = make(
    "button",
    { type: "button", className: "icon close", "aria-label": "Close" },
    "×",
  );
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(make("h2", { id: "dialog-title" }, title), close, ...content);
  if (!dialog.open) dialog.showModal();
}

dialog.addEventListener("click", event => {
  if (event.target === dialog) dialog.close();
});

export const isOpen = () => dialog.open;

function pairs(entries) {
  const list = make("dl", { className: "pairs" });
  for (const [term, ...meaning] of entries)
    list.append(make("dt", {}, term), make("dd", {}, ...meaning));
  return list;
}

export function keys(entries, enabled, onEnabled) {
  const box = make("input", { type: "checkbox", checked: enabled });
  box.addEventListener("change", () => onEnabled(box.checked));
  open(
    "Keys",
    pairs(entries.map(([key, what]) => [make("kbd", {}, key), what])),
    make("label", {}, box, " Single keys act"),
  );
}

export function stories(list, told, tell) {
  const cards = list.map(story => {
    const button = make(
      "button",
      { type: "button" },
      make("b", {}, story.title),
      make("span", {}, `${story.question} ${story.steps.length} steps.`),
    );
    if (story.name === told?.name) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => {
      dialog.close();
      tell(story.name, 0);
    });
    return make("li", {}, button);
  });
  open("Guided stories", make("ul", { className: "cards" }, ...cards));
}

const WHAT = {
  sent: "Sent by",
  queued: "Joins the queue of",
  dropped: "Dropped at",
  marked: "Marked at",
  transmitted: "Transmitted on",
  lost: "Lost on",
  delivered: "Delivered to",
};

export function packet(told, stage) {
  const flow = stage.flows[told.flow];
  const lane = stage.lanes.find(each => each.id === told.lane);
  const kind = { ack: "an acknowledgment", control: "a control packet", data: "data" }[told.kind];
  const life = make(
    "ol",
    { className: "life" },
    ...told.steps.map(step => {
      const words = [`${WHAT[step.what]} ${step.where}`];
      if (step.waiting !== null)
        words.push(`, where ${units.count(step.waiting, "packet")} waited`);
      if (step.why) words.push(`: ${reasonText(step.why)}`);
      const item = make(
        "li",
        {},
        make("time", {}, `${(step.at_ns / 1e9).toFixed(6)} s`),
        words.join(""),
      );
      const variables = Object.entries(step.variables);
      if (variables.length) {
        item.append(
          make(
            "div",
            { className: "small" },
            variables
              .map(([name, value]) => `${name.replaceAll("_", " ")} ${units.plain(value)}`)
              .join(" · "),
          ),
        );
      }
      return item;
    }),
  );
  open(
    `Packet ${told.id}`,
    make(
      "p",
      {},
      `${told.bytes} B of ${flow?.name ?? "a flow"}, ${kind}, under ${lane?.label ?? "?"}.`,
    ),
    told.steps.length ? life : make("p", {}, "That is so long ago that nothing is kept of it."),
    make("p", { className: "small" }, told.ended ? "That is its end." : "It is still under way."),
  );
}

export function saved(files, stage) {
  const parts = files.map(file => {
    const lane = stage.lanes.find(each => each.id === file.lane);
    const address = URL.createObjectURL(new Blob([file.text], { type: "text/plain" }));
    const link = make("a", { href: address, download: file.path.split("/").pop() }, "Download");
    return make(
      "section",
      {},
      make("h3", {}, lane?.label ?? ""),
      make("p", {}, make("code", {}, file.path), " · ", link),
      make(
        "p",
        { className: "small" },
        "The same again: ",
        make("code", {}, `forebay run ${file.path}`),
      ),
      file.fingerprint
        ? make(
            "p",
            { className: "small" },
            "Fingerprint: ",
            make("code", { className: "fingerprint" }, file.fingerprint),
          )
        : null,
      make(
        "pre",
        { tabIndex: 0, "aria-label": `Scenario of ${lane?.label ?? "this lane"}` },
        file.text,
      ),
    );
  });
  open("Saved, with every change", ...parts);
}

export function address(where) {
  open(
    "The report",
    make("p", {}, make("a", { href: where, target: "_blank", rel: "noopener" }, "Open the report")),
  );
}

// Messages above the page; what is said of a field appears beside it, too.
export class Messages {
  #host;
  constructor(host) {
    this.#host = host;
  }

  say(level, text, key = text) {
    this.hush(key);
    const close = make(
      "button",
      { type: "button", className: "plain", "aria-label": "Dismiss" },
      "×",
    );
    const line = make("p", { className: level }, make("span", {}, text), close);
    line.dataset.key = key;
    close.addEventListener("click", () => line.remove());
    this.#host.append(line);
    while (this.#host.children.length > 3) this.#host.firstChild.remove();
    if (level === "info") setTimeout(() => line.remove(), 8000);
  }

  hush(key) {
    for (const line of [...this.#host.children]) if (line.dataset.key === key) line.remove();
  }
}

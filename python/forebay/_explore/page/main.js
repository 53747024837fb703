// The page of `forebay explore`: joins what the server says with what is shown, and what people do
// with what is asked of the server. `forebay._explore.protocol` has the messages.

import { ChangePanel } from "./change.js";
import * as compared from "./compared.js";
import * as dialogs from "./dialogs.js";
import { Lanes } from "./lanes.js";
import { Live } from "./live.js";
import { Series } from "./series.js";
import { StoryPanel } from "./story.js";
import { applyTheme, classColour, make, part, switchTheme } from "./style.js";
import * as units from "./units.js";

/**
 * @import { Frame, Send, Stage } from "./messages.js"
 * @import { Client, Handlers } from "./client.js"
 */

const TELL_MS = 200;
const BACK_NS = 1e9;
const AHEAD_S = 0.1; // series go on for so long without a frame
const FASTER = 5; // steps of the slider

/** @param {string} id */
const at = id => part(id, HTMLElement);
const body = part("body", HTMLElement);
const speed = part("speed", HTMLInputElement);
const seek = part("seek", HTMLInputElement);
/** @type {Stage | null} */
let stage = null;
/** @type {Frame | null} */
let frame = null;
let arrived = 0;
let seeking = false;
/** @type {Window | null} */
let opened = null;

/** @type {Send} */
const send = (type, ...fields) => live.send(type, ...fields);
/** @type {(name: string, step: number) => void} */
const tellStory = (name, step) => send("story", { name, step });
const messages = new dialogs.Messages(at("said"));
const lanes = new Lanes(at("lanes"), send);
const series = new Series(
  at("charts"),
  at("toggles"),
  part("window", HTMLSelectElement),
  (lane, atS, loss) => send("why", { lane, at_ns: Math.round(atS * 1e9), loss }),
);
const change = new ChangePanel(at("change"), send);
const story = new StoryPanel(at("story"), body, tellStory, step => {
  if (step) series.show(step.shows);
  series.look(step?.look ?? []);
  lanes.look(step?.look ?? []);
});

/** @type {Handlers} */
const handlers = {
  stage(message) {
    stage = message;
    const title = stage.title || stage.scenario;
    at("title").textContent = title;
    document.title = `${title} · forebay explore`;
    seek.max = String(Math.round(stage.duration_s * 1000));
    lanes.setStage(stage);
    series.setStage(stage, lanes.all);
    change.setStage(stage);
    story.setStage(stage);
    drawLegend(stage);
  },
  frame(message) {
    frame = message;
    arrived = performance.now();
    lanes.take(frame, arrived);
    showTime(frame);
    requestAnimationFrame(() => send("ack", { number: message.number }));
  },
  story_of(message) {
    if (stage) dialogs.packet(message, stage);
  },
  said({ level, text, field }) {
    const beside = field !== null && change.wrong(field, text) && !at("change").hidden;
    if (!beside) messages.say(level, text);
  },
  saved({ files }) {
    if (stage) dialogs.saved(files, stage);
  },
  compared: message => {
    if (message.done < 0) at("compared").hidden = true;
    else compared.draw(at("compared"), message, live.cancel);
  },
  explained({ title, done, parts }) {
    messages.hush("why");
    if (done < 1) messages.say("info", `${title}? ${Math.round(100 * done)} %`, "why");
    else dialogs.explained(title, parts);
  },
  reported({ done, address }) {
    if (address === null) {
      const percent = Math.round(100 * done);
      messages.say("info", `The report is being made: ${percent} %`, "report");
      return;
    }
    messages.hush("report");
    if (opened && !opened.closed) opened.location.href = address;
    else dialogs.address(address);
    opened = null;
  },
};

/** @type {Client} */
const live = new Live(handlers, status => {
  if (status === "open") messages.hush("lost");
  else {
    const words = "The server does not answer. Is the command still running?";
    messages.say("warning", `${words} The page tries again by itself.`, "lost");
  }
});

/** @param {Stage} given */
function drawLegend({ classes, links }) {
  const link = links.find(each => each.watched);
  const words = link ? `Queue of ${link.name}: ${link.source} → ${link.target}` : "";
  at("direction").textContent = words;
  const rows = classes.map(({ id, name }) => [classColour(id).replace("--", ""), name]);
  const items = [...rows, ["rest", "further back"]].map(([colour, name]) =>
    make("span", { role: "listitem" }, make("span", { className: `chip ${colour}` }), name),
  );
  at("legend").replaceChildren(...items);
}

/** @param {Frame} frame */
function showTime({ now_ns, playing, speed: factor }) {
  const now = now_ns / 1e9;
  const duration = stage?.duration_s ?? 0;
  at("clock").replaceChildren(
    make("b", {}, units.clock(now, factor, playing)),
    make("span", {}, ` of ${units.time(duration)}`),
  );
  if (!seeking) seek.value = String(Math.round(now * 1000));
  const play = at("play");
  if (play.dataset.playing !== String(playing)) {
    play.dataset.playing = String(playing);
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    const shape = playing ? "M3 2h3.5v12H3zM9.5 2H13v12H9.5z" : "M4 2v12l10-6z";
    document.getElementById("play-shape")?.setAttribute("d", shape);
  }
  const held = document.activeElement === speed;
  if (!held) speed.value = String(units.stepOf(factor));
  showSpeed(held ? units.speedOf(speed.valueAsNumber) : factor);
  story.setTime(now_ns, playing);
}

/** @param {number | null} factor */
function showSpeed(factor) {
  const slow = frame?.actual && factor !== null && frame.actual < 0.8 * factor;
  const reached = slow ? ` (reached: ${units.speedText(frame?.actual ?? null)})` : "";
  const words = units.speedText(factor) + reached;
  if (at("speed-text").textContent !== words) at("speed-text").textContent = words;
  speed.setAttribute("aria-valuetext", words);
}

/**
 * The instant that the series show, in s: between frames it goes on at the speed that is reached.
 * @param {Frame} frame
 * @param {number} now in ms
 */
function drawnInstant({ now_ns, playing, complete, actual }, now) {
  const ahead = playing && !complete ? Math.min(AHEAD_S, (now - arrived) / 1e3) : 0;
  return now_ns / 1e9 + ahead * (actual ?? 0);
}

let told = 0;
/** @param {number} now in ms */
function draw(now) {
  requestAnimationFrame(draw);
  if (!frame) return;
  lanes.draw(now);
  series.draw(drawnInstant(frame, now), frame.speed);
  if (now - told > TELL_MS) {
    told = now;
    lanes.tell();
  }
}
requestAnimationFrame(draw);

const playOrPause = () => send(frame?.playing ? "pause" : "play");
/** @param {number} ns */
const seekTo = ns => send("seek", { at_ns: Math.max(0, Math.round(ns)) });
const back = () => seekTo((frame?.now_ns ?? 0) - BACK_NS);

/** @param {number} steps */
function speedBy(steps) {
  speed.value = String(speed.valueAsNumber + steps);
  setSpeed();
}

function setSpeed() {
  const factor = units.speedOf(speed.valueAsNumber);
  send("speed", { factor });
  showSpeed(factor);
}

function toggleChange() {
  const panel = at("change");
  const shown = Boolean(panel.hidden);
  panel.hidden = !shown;
  body.classList.toggle("with-change", shown);
  at("toggle-change").setAttribute("aria-expanded", String(shown));
  if (shown) panel.querySelector("summary")?.focus();
}

function report() {
  opened = window.open("", "_blank");
  send("report");
}

function askWhy() {
  const lane = stage?.lanes[0]?.id;
  if (lane !== undefined && frame) send("why", { lane, at_ns: frame.now_ns });
}

const openStories = () => dialogs.stories(story.stories, story.told, tellStory);

/**
 * Every action: its button if it has one, its key, what the list of keys calls the key, what it
 * says of it, and what it does.
 * @type {[button: string | null, key: string, called: string, what: string, act: () => void][]}
 */
const ACTIONS = [
  ["play", " ", "Space", "Play or pause", playOrPause],
  ["step", ".", ".", "One event of the queue", () => send("step")],
  ["back", ",", ",", "Back by a second", back],
  ["reset", "Home", "Home", "Back to the beginning; changes are forgotten", () => send("reset")],
  [null, "-", "-", "Slower", () => speedBy(-FASTER)],
  [null, "+", "+", "Faster", () => speedBy(FASTER)],
  [null, "p", "p", "The story's previous step", () => story.go(-1)],
  [null, "n", "n", "The story's next step", () => story.go(1)],
  ["open-stories", "g", "g", "Guided stories", openStories],
  ["toggle-change", "c", "c", "Change it while it runs", toggleChange],
  ["save", "s", "s", "Save with all changes", () => send("save")],
  ["compare", "m", "m", "Compare with replications", () => send("compare")],
  ["report", "r", "r", "Open the report", report],
  [null, "w", "w", "Why do packets wait now, under the first discipline?", askWhy],
  ["theme", "t", "t", "Light or dark", switchTheme],
  ["open-keys", "?", "?", "These keys", openKeys],
];
let singleKeys = true;
function openKeys() {
  dialogs.keys(
    [
      ...ACTIONS.filter(([id]) => !id || !at(id).hidden).map(
        ([, , called, what]) => /** @type {[string, string]} */ ([called, what]),
      ),
      ["← →", "In a picture: choose a packet"],
      ["Enter", "In a picture: the packet's story"],
    ],
    singleKeys,
    enabled => {
      singleKeys = enabled;
    },
  );
}

for (const id of ["compare", "report"]) at(id).hidden = !live.compares;
for (const [id, , , what, act] of ACTIONS) {
  if (!id) continue;
  at(id).addEventListener("click", act);
  at(id).title = what;
}

/**
 * Whether a key means something to the element that has the focus.
 * @param {Element} element
 * @param {string} key
 */
function takes(element, key) {
  if (element.matches("input[type=text], select, textarea")) return true;
  if (key === "Home") return element.matches("input[type=range]");
  return key === " " && element.matches("button, summary, input, a");
}

addEventListener("keydown", event => {
  if (!singleKeys || dialogs.isOpen() || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && takes(event.target, event.key)) return;
  const [id, , , , act] = ACTIONS.find(([, key]) => key === event.key) ?? [];
  if (!act || (id && at(id).hidden)) return;
  event.preventDefault();
  act();
});

speed.addEventListener("input", setSpeed);
seek.addEventListener("input", () => {
  seeking = true;
});
seek.addEventListener("change", () => {
  seeking = false;
  seekTo(seek.valueAsNumber * 1e6);
});
applyTheme();

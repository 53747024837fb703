// The page of `forebay explore`: joins what the server says with what is shown, and what people do
// with what is asked of the server. `forebay.explore.protocol` has the messages.

import { ChangePanel } from "./change.js";
import * as compared from "./compared.js";
import * as dialogs from "./dialogs.js";
import { Lanes } from "./lanes.js";
import { Live } from "./live.js";
import { Series } from "./series.js";
import { StoryPanel } from "./story.js";
import { applyTheme, classColour, make, switchTheme } from "./style.js";
import * as units from "./units.js";

const TELL_MS = 200;
const BACK_NS = 1e9;

const at = id => document.getElementById(id);
const body = document.querySelector(".body");
let stage = null;
let frame = null;
let arrived = 0;
let seeking = false;
let opened = null;

const send = (type, fields) => live.send(type, fields);
const messages = new dialogs.Messages(at("said"));
const lanes = new Lanes(at("lanes"), send);
const series = new Series(at("charts"), at("toggles"), at("window"));
const change = new ChangePanel(at("change"), send);
const story = new StoryPanel(
  at("story"),
  body,
  (name, step) => send("story", { name, step }),
  step => {
    if (step) series.show(step.shows);
    series.look(step?.look ?? []);
    lanes.look(step?.look ?? []);
  },
);

const handlers = {
  stage(message) {
    stage = message;
    prepare(stage);
    at("title").textContent = stage.title || stage.scenario;
    document.title = `${stage.title || stage.scenario} · forebay explore`;
    at("seek").max = Math.round(stage.duration_s * 1000);
    lanes.setStage(stage);
    series.setStage(stage, lanes.all);
    change.setStage(stage);
    story.setStage(stage);
    drawLegend();
  },
  frame(message) {
    frame = message;
    arrived = performance.now();
    lanes.take(frame, arrived);
    showTime();
    requestAnimationFrame(() => send("ack", { number: message.number }));
  },
  story_of: message => dialogs.packet(message, stage),
  said({ level, text, field }) {
    if (!field || !change.wrong(field, text) || at("change").hidden) messages.say(level, text);
  },
  saved: message => dialogs.saved(message.files, stage),
  compared: message => compared.draw(at("compared"), message),
  reported({ done, address }) {
    if (done < 1 || !address) {
      messages.say("info", `The report is being made: ${Math.round(100 * done)} %`, "report");
      return;
    }
    messages.hush("report");
    if (opened && !opened.closed) opened.location.href = address;
    else dialogs.address(address);
    opened = null;
  },
};

const live = new Live(handlers, status => {
  if (status === "open") messages.hush("lost");
  else
    messages.say(
      "warning",
      "The server does not answer. Is the command still running? The page tries again by itself.",
      "lost",
    );
});

// Places that several parts look up.
function prepare(given) {
  const seen = new Map();
  given.flowPlace = new Map(
    given.flows.map(flow => {
      const place = seen.get(flow.class_id) ?? 0;
      seen.set(flow.class_id, place + 1);
      return [flow.id, place];
    }),
  );
}

function drawLegend() {
  at("legend").replaceChildren(
    ...stage.classes.map(each => {
      const chip = make("span", { className: `chip ${classColour(each.id).slice(2)}` });
      return make("span", { role: "listitem" }, chip, each.name);
    }),
    make("span", { role: "listitem" }, make("span", { className: "chip rest" }), "further back"),
  );
}

function showTime() {
  const now = frame.now_ns / 1e9;
  at("clock").replaceChildren(
    make("b", {}, units.clock(now, frame.speed, frame.playing)),
    make("span", {}, ` of ${units.time(stage.duration_s)}`),
  );
  if (!seeking) at("seek").value = Math.round(now * 1000);
  const playing = frame.playing;
  const play = at("play");
  if (play.dataset.playing !== String(playing)) {
    play.dataset.playing = String(playing);
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    at("play-shape").setAttribute(
      "d",
      playing ? "M3 2h3.5v12H3zM9.5 2H13v12H9.5z" : "M4 2v12l10-6z",
    );
  }
  const held = document.activeElement === at("speed");
  if (!held) at("speed").value = units.stepOf(frame.speed);
  showSpeed(held ? units.speedOf(Number(at("speed").value)) : frame.speed);
  story.setTime(frame.now_ns, playing);
}

function showSpeed(factor) {
  const slow = frame?.actual && factor !== null && frame.actual < 0.8 * factor;
  const words = slow
    ? `${units.speedText(factor)} (reached: ${units.speedText(frame.actual)})`
    : units.speedText(factor);
  if (at("speed-text").textContent !== words) at("speed-text").textContent = words;
  at("speed").setAttribute("aria-valuetext", words);
}

// The instant that is drawn: between frames it goes on at the speed that is reached.
function drawnInstant(now) {
  if (!frame.playing || frame.complete) return frame.now_ns / 1e9;
  const ahead = Math.min(0.1, (now - arrived) / 1e3);
  return frame.now_ns / 1e9 + ahead * (frame.actual ?? 0);
}

let told = 0;
function draw(now) {
  requestAnimationFrame(draw);
  if (!stage || !frame) return;
  lanes.draw(now);
  series.draw(drawnInstant(now), frame.speed);
  if (now - told > TELL_MS) {
    told = now;
    lanes.tell();
  }
}
requestAnimationFrame(draw);

const playOrPause = () => send(frame?.playing ? "pause" : "play");
const seek = ns => send("seek", { at_ns: Math.max(0, Math.round(ns)) });
const back = () => seek((frame?.now_ns ?? 0) - BACK_NS);
function speedBy(steps) {
  const slider = at("speed");
  slider.value = Number(slider.value) + steps;
  setSpeed();
}
function setSpeed() {
  const factor = units.speedOf(Number(at("speed").value));
  send("speed", { factor });
  showSpeed(factor);
}
function toggleChange() {
  const hidden = !at("change").hidden;
  at("change").hidden = hidden;
  body.classList.toggle("with-change", !hidden);
  at("toggle-change").setAttribute("aria-expanded", String(!hidden));
  if (!hidden) at("change").querySelector("summary, select, input")?.focus();
}
function report() {
  opened = window.open("", "_blank");
  send("report");
}
const openStories = () =>
  dialogs.stories(story.stories, story.told, (name, step) => send("story", { name, step }));

// Every action: its button, its key, what the list of keys says, and what it does.
const ACTIONS = [
  ["play", " ", "Space", "Play or pause", playOrPause],
  ["step", ".", ".", "One event of the queue", () => send("step")],
  ["back", ",", ",", "Back by a second", back],
  ["reset", "Home", "Home", "Back to the beginning; changes are forgotten", () => send("reset")],
  [null, "-", "-", "Slower", () => speedBy(-5)],
  [null, "+", "+", "Faster", () => speedBy(5)],
  [null, "p", "p", "The story's previous step", () => story.go(-1)],
  [null, "n", "n", "The story's next step", () => story.go(1)],
  ["open-stories", "g", "g", "Guided stories", openStories],
  ["toggle-change", "c", "c", "Change it while it runs", toggleChange],
  ["save", "s", "s", "Save with all changes", () => send("save")],
  ["compare", "m", "m", "Compare with replications", () => send("compare")],
  ["report", "r", "r", "Open the report", report],
  ["theme", "t", "t", "Light or dark", switchTheme],
  ["open-keys", "?", "?", "These keys", openKeys],
];
let singleKeys = true;
function openKeys() {
  const picture = [
    ["← →", "In a picture: choose a packet"],
    ["Enter", "In a picture: the packet's story"],
  ];
  dialogs.keys([...ACTIONS.map(([, , key, what]) => [key, what]), ...picture], singleKeys, on => {
    singleKeys = on;
  });
}
for (const [id, , , what, act] of ACTIONS) {
  if (!id) continue;
  at(id).addEventListener("click", act);
  at(id).title = what;
}
addEventListener("keydown", event => {
  if (!singleKeys || dialogs.isOpen() || event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  const typing = target.matches("input[type=text], select, textarea");
  const moves = target.matches("input[type=range]") && event.key === "Home";
  const presses = event.key === " " && target.matches("button, summary, input, a");
  if (typing || moves || presses) return;
  const action = ACTIONS.find(([, key]) => key === event.key);
  if (!action) return;
  event.preventDefault();
  action[4]();
});

at("speed").addEventListener("input", setSpeed);
at("seek").addEventListener("input", () => {
  seeking = true;
});
at("seek").addEventListener("change", () => {
  seeking = false;
  seek(Number(at("seek").value) * 1e6);
});
applyTheme();

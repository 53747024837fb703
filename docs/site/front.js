// The picture on the first page: a step of a guided story, recorded, played when somebody asks for it.

import { holding } from "../../python/forebay/_explore/page/capacity.js";
import { Picture } from "../../python/forebay/_explore/page/picture.js";
import {
  classColour,
  laneColour,
  make,
  part,
  recolour,
  stroke,
} from "../../python/forebay/_explore/page/style.js";
import * as units from "../../python/forebay/_explore/page/units.js";

/**
 * @import { LaneFrame, Stage } from "../../python/forebay/_explore/page/messages.js"
 * @typedef {{ now_ns: number, lanes: LaneFrame[] }} Recorded
 */

const STEP_MS = 50; // of real time from frame to frame
const SETTLED_MS = 1000; // until nothing glides or falls any more

/** @returns {Promise<{ stage: Stage, frames: Recorded[] }>} */
async function load() {
  const text = part("front-data", HTMLElement).textContent ?? "";
  const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).json();
}

const { stage, frames } = await load();
const queues = frames.flatMap(frame => frame.lanes.flatMap(lane => lane.queues));
const totals = frames.map(frame => Math.max(...frame.lanes.map(lane => lane.total)));
const fullest = totals.indexOf(Math.max(...totals));
const full = holding(
  stage.lanes.map((lane, place) => ({ lane, queues: frames[fullest].lanes[place].queues })),
  Math.max(...queues.map(queue => queue.bytes)),
);

const shown = stage.lanes.map(lane => {
  const label = `The packets in the queue under ${lane.label}`;
  const canvas = make("canvas", { role: "img", "aria-label": label });
  const picture = new Picture(canvas);
  picture.setStage(stage, []);
  const [waiting, wait] = [make("b"), make("b")];
  const heading = make("h3", {}, stroke(laneColour(lane.colour), lane.colour), lane.label);
  const numbers = make("p", {}, waiting, " wait; the next one has waited ", wait);
  return { picture, waiting, wait, card: make("div", {}, heading, canvas, numbers) };
});
const seen = new Set(queues.flatMap(queue => queue.packets.map(([, , kind]) => kind)));
const classes = stage.classes.filter(each => seen.has(each.id));
const chips = classes.map(({ id, name }) => {
  const chip = make("i");
  chip.style.background = `var(${classColour(id)})`;
  return make("span", {}, chip, name);
});
part("front-classes", HTMLElement).append(...chips);
part("front-lanes", HTMLElement).append(...shown.map(each => each.card));

const play = part("front-play", HTMLButtonElement);
const seek = part("front-seek", HTMLInputElement);
const clock = part("front-clock", HTMLElement);
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
seek.max = String(frames.length - 1);
let at = fullest;
let playing = false;
let fresh = true;
let due = 0;

/** @param {number} now in ms */
function take(now) {
  const frame = frames[at];
  for (const [place, { picture, waiting, wait }] of shown.entries()) {
    const lane = frame.lanes[place];
    picture.take({ ...lane, first: 0, points: [] }, full, now);
    waiting.textContent = units.count(lane.total, "packet");
    wait.textContent = units.time((lane.queues[0]?.packets[0]?.[4] ?? 0) / 1e9);
  }
  seek.value = String(at);
  clock.textContent = `${(frame.now_ns / 1e9).toFixed(2)} s`;
  seek.setAttribute("aria-valuetext", clock.textContent);
}

/** @param {number} now in ms */
function draw(now) {
  for (const { picture } of shown) picture.draw(now);
}

/** The frame as it stands, without what leads to it. */
function stand() {
  const now = performance.now();
  for (const { picture } of shown) picture.clear();
  take(now);
  draw(now + SETTLED_MS);
}

/** @param {boolean} on */
function setPlaying(on) {
  playing = on;
  play.textContent = on ? "Pause" : "Play";
  if (on) requestAnimationFrame(run);
}

/** @param {number} now in ms */
function run(now) {
  if (!playing) return;
  if (now >= due) {
    due = Math.max(due + STEP_MS, now);
    at++;
    take(now);
  }
  draw(now);
  if (at < frames.length - 1) requestAnimationFrame(run);
  else setPlaying(false);
}

play.addEventListener("click", () => {
  if (fresh || (!playing && at === frames.length - 1)) {
    at = 0;
    fresh = false;
    stand();
  }
  setPlaying(!playing);
});
seek.addEventListener("input", () => {
  setPlaying(false);
  fresh = false;
  at = seek.valueAsNumber;
  stand();
});
const hidePlay = () => {
  setPlaying(playing && !reduced.matches);
  play.hidden = reduced.matches;
};
reduced.addEventListener("change", hidePlay);
new ResizeObserver(() => draw(performance.now() + SETTLED_MS)).observe(seek);
new MutationObserver(() => {
  recolour();
  draw(performance.now() + SETTLED_MS);
}).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
hidePlay();
stand();

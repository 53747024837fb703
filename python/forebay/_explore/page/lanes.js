// The lanes: a card for each discipline, with its picture and what its queue is doing now.

import { holding } from "./capacity.js";
import { History } from "./history.js";
import { Picture } from "./picture.js";
import { laneColour, make, stroke } from "./style.js";
import * as units from "./units.js";

/** @import { Frame, Lane, Send, Stage } from "./messages.js" */

const LATELY_S = 0.5;
// The packet that is served first is at the right end.
const ARROWS = new Map([
  ["ArrowRight", -1],
  ["ArrowLeft", 1],
]);
const NUMBERS = {
  waiting: "Waiting",
  wait: "Longest wait",
  rate: "Over the link",
  dropped: "Dropped",
};

/** A lane and what shows it. */
export class ShownLane {
  history = new History();
  heading;
  picture;
  card;
  total = 0;
  wait_s = 0;
  /** @type {Record<string, HTMLElement>} */
  #numbers = {};

  /** @param {Lane} lane */
  constructor(lane) {
    this.lane = lane;
    this.canvas = make("canvas", {
      tabIndex: 0,
      role: "application",
      "aria-roledescription": "picture of a queue",
      "aria-describedby": `state-${lane.id}`,
      "aria-label": "Packets of the queue. Left and right choose one, Enter tells its story.",
    });
    this.picture = new Picture(this.canvas);
    this.heading = make("h2", { id: `lane-${lane.id}` });
    const numbers = make("dl", { className: "now", id: `state-${lane.id}` });
    for (const [key, name] of Object.entries(NUMBERS)) {
      this.#numbers[key] = make("dd", {}, "–");
      numbers.append(make("div", {}, make("dt", {}, name), this.#numbers[key]));
    }
    this.card = make(
      "article",
      { className: "lane", "aria-labelledby": `lane-${lane.id}` },
      make("header", {}, stroke(laneColour(lane.colour), lane.colour), this.heading),
      this.canvas,
      numbers,
    );
  }

  /**
   * @param {Lane} lane as it is now
   * @param {Stage} stage
   * @param {number[]} inner queues that are shown, in their order; shared by lanes of one kind
   */
  set(lane, stage, inner) {
    if (this.lane.kind !== lane.kind) this.picture.clear();
    this.lane = lane;
    this.heading.textContent = lane.label;
    this.picture.setStage(stage, inner);
  }

  /** @param {Stage} stage */
  tell(stage) {
    const span = Math.max(LATELY_S, 2 * stage.grain_s);
    const over = stage.flows.filter(flow => flow.watched);
    const bps = this.history.mean(
      point => over.reduce((sum, flow) => sum + (point.bps[flow.id] ?? 0), 0),
      span,
    );
    const { marked, ...dropped } = this.history.ended;
    const drops = Object.values(dropped).reduce((sum, values) => sum + (values.at(-1) ?? 0), 0);
    const marks = marked?.at(-1);
    write(this.#numbers.waiting, `${this.total} p`);
    write(this.#numbers.wait, units.time(this.wait_s));
    write(this.#numbers.rate, bps === null ? "–" : units.rate(bps));
    write(this.#numbers.dropped, marks ? `${drops} · ${marks} marked` : String(drops));
  }
}

export class Lanes {
  #host;
  #send;
  /** @type {ShownLane[]} */
  #lanes = [];
  /** @type {Stage | null} */
  #stage = null;
  #most = 0;

  /**
   * @param {HTMLElement} host
   * @param {Send} send
   */
  constructor(host, send) {
    this.#host = host;
    this.#send = send;
  }

  get all() {
    return this.#lanes;
  }

  /** @param {Stage} stage */
  setStage(stage) {
    this.#stage = stage;
    const same =
      this.#lanes.length === stage.lanes.length &&
      stage.lanes.every((lane, place) => this.#lanes[place].lane.id === lane.id);
    if (!same) {
      this.#lanes = stage.lanes.map(lane => this.#shown(lane));
      this.#host.replaceChildren(...this.#lanes.map(each => each.card));
    }
    /** @type {Record<string, number[]>} */
    const inner = {};
    for (const [place, lane] of stage.lanes.entries()) {
      inner[lane.kind] ??= [];
      this.#lanes[place].set(lane, stage, inner[lane.kind]);
    }
    const columns = this.#lanes.length > 4 ? 3 : this.#lanes.length === 4 ? 2 : this.#lanes.length;
    document.body.style.setProperty("--columns", String(columns));
  }

  /** @param {Lane} lane */
  #shown(lane) {
    const own = new ShownLane(lane);
    const { canvas, picture } = own;
    /** @param {number} id of a packet */
    const ask = id => {
      picture.choose(id);
      this.#send("ask", { lane: lane.id, id });
    };
    canvas.addEventListener("click", event => {
      const found = picture.at(event.offsetX, event.offsetY);
      if (found) ask(found.id);
    });
    canvas.addEventListener("keydown", event => {
      const order = picture.inOrder;
      const at = order.findIndex(packet => packet.id === picture.chosen);
      const by = ARROWS.get(event.key);
      if (by && order.length) {
        picture.choose(order[Math.max(0, Math.min(order.length - 1, at + by))].id);
      } else if (event.key === "Enter" && at >= 0) ask(order[at].id);
      else return;
      event.preventDefault();
    });
    return own;
  }

  /**
   * @param {Frame} frame
   * @param {number} now when it came, in ms
   */
  take(frame, now) {
    for (const { queues } of frame.lanes) {
      for (const { bytes } of queues) this.#most = Math.max(this.#most, bytes);
    }
    const held = this.#lanes.map(({ lane }) => ({
      lane,
      queues: frame.lanes.find(given => given.id === lane.id)?.queues ?? [],
    }));
    const full = holding(held, this.#most);
    for (const given of frame.lanes) {
      const own = this.#lanes.find(each => each.lane.id === given.id);
      if (!own) continue;
      if (own.history.take(given.first, given.points)) {
        own.picture.clear();
        this.#most = 0;
      }
      own.picture.take(given, full, now);
      own.total = given.total;
      own.wait_s = Math.max(0, ...given.queues.map(queue => queue.packets[0]?.[4] ?? 0)) / 1e9;
    }
  }

  /** @param {number} now in ms */
  draw(now) {
    for (const { picture } of this.#lanes) picture.draw(now);
  }

  /** The numbers below the pictures, a few times a second. */
  tell() {
    for (const own of this.#lanes) if (this.#stage) own.tell(this.#stage);
  }

  /** @param {string[]} labels of lanes that a story points to */
  look(labels) {
    for (const { card, lane } of this.#lanes) {
      card.classList.toggle("looked", labels.includes(lane.label));
    }
  }
}

/**
 * A number, and its unit smaller.
 * @param {HTMLElement} element
 * @param {string} text
 */
function write(element, text) {
  if (element.textContent === text) return;
  const end = text.search(/\s|$/);
  element.replaceChildren(text.slice(0, end), make("small", {}, text.slice(end)));
}

// The lanes: a card for each discipline, with its picture and what its queue is doing now.

import { History } from "./history.js";
import { Picture } from "./picture.js";
import { laneColour, make, stroke } from "./style.js";
import * as units from "./units.js";

const LATELY_S = 0.5;

export class Lanes {
  #host;
  #send;
  #lanes = [];
  #stage = null;
  #most = 0;

  constructor(host, send) {
    this.#host = host;
    this.#send = send;
  }

  get all() {
    return this.#lanes;
  }

  setStage(stage) {
    this.#stage = stage;
    const same =
      this.#lanes.length === stage.lanes.length &&
      stage.lanes.every((lane, place) => this.#lanes[place].id === lane.id);
    if (!same) {
      this.#lanes = stage.lanes.map(lane => this.#card(lane));
      this.#host.replaceChildren(...this.#lanes.map(lane => lane.card));
    }
    // Lanes of one kind show the same inner queues.
    const inner = {};
    stage.lanes.forEach((lane, place) => {
      const own = this.#lanes[place];
      if (own.kind !== lane.kind) own.picture.clear();
      inner[lane.kind] ??= [];
      Object.assign(own, lane, { inner: inner[lane.kind] });
      own.heading.textContent = lane.label;
      own.picture.setStage(stage, own);
    });
    const columns = this.#lanes.length > 4 ? 3 : this.#lanes.length === 4 ? 2 : this.#lanes.length;
    for (const each of document.querySelectorAll(".lanes, #charts")) {
      each.style.setProperty("--columns", columns);
    }
  }

  #card(lane) {
    const heading = make("h2", { id: `lane-${lane.id}` });
    const canvas = make("canvas", {
      tabIndex: 0,
      role: "application",
      "aria-roledescription": "picture of a queue",
      "aria-describedby": `state-${lane.id}`,
      "aria-label": "Packets of the queue. Left and right choose one, Enter tells its story.",
    });
    const values = {};
    const shown = make("dl", { className: "now", id: `state-${lane.id}` });
    for (const [key, name] of [
      ["waiting", "Waiting"],
      ["wait", "Longest wait"],
      ["rate", "Over the link"],
      ["dropped", "Dropped"],
    ]) {
      values[key] = make("dd", {}, "–");
      shown.append(make("div", {}, make("dt", {}, name), values[key]));
    }
    const card = make(
      "article",
      { className: "lane", "aria-labelledby": `lane-${lane.id}` },
      make("header", {}, stroke(laneColour(lane.colour), lane.colour), heading),
      canvas,
      shown,
    );
    const own = {
      id: lane.id,
      card,
      heading,
      values,
      history: new History(),
      picture: new Picture(canvas),
    };
    this.#listen(canvas, own);
    return own;
  }

  #listen(canvas, own) {
    const ask = id => {
      own.picture.choose(id);
      this.#send("ask", { lane: own.id, id });
    };
    canvas.addEventListener("click", event => {
      const found = own.picture.at(event.offsetX, event.offsetY);
      if (found) ask(found.id);
    });
    canvas.addEventListener("keydown", event => {
      const order = own.picture.inOrder;
      const at = order.findIndex(packet => packet.id === own.picture.chosen);
      const to = { ArrowRight: Math.max(0, at - 1), ArrowLeft: Math.min(order.length - 1, at + 1) }[
        event.key
      ];
      if (to !== undefined && order.length) own.picture.choose(order[to].id);
      else if (event.key === "Enter" && at >= 0) ask(own.picture.chosen);
      else return;
      event.preventDefault();
    });
  }

  take(frame, now) {
    for (const { queues } of frame.lanes) {
      for (const { bytes } of queues) this.#most = Math.max(this.#most, bytes);
    }
    for (const given of frame.lanes) {
      const own = this.#lanes.find(lane => lane.id === given.id);
      if (!own) continue;
      if (own.history.take(given.first, given.points)) {
        own.picture.clear();
        this.#most = 0;
      }
      own.picture.take(given, this.#most, now);
      own.total = given.total;
      own.wait = Math.max(0, ...given.queues.map(queue => queue.packets[0]?.[4] ?? 0)) / 1e9;
    }
  }

  draw(now) {
    for (const lane of this.#lanes) lane.picture.draw(now);
  }

  // The numbers below the pictures, a few times a second.
  tell() {
    for (const lane of this.#lanes) {
      const span = Math.max(LATELY_S, 2 * this.#stage.grain_s);
      const over = this.#stage.flows.filter(flow => flow.watched);
      const bps = lane.history.mean(
        point => over.reduce((sum, flow) => sum + (point.bps[flow.id] ?? 0), 0),
        span,
      );
      const ended = lane.history.length ? lane.history.ended : {};
      const drops = Object.entries(ended).reduce(
        (sum, [reason, values]) => (reason === "marked" ? sum : sum + values[values.length - 1]),
        0,
      );
      const marks = ended.marked?.at(-1) ?? 0;
      set(lane.values.waiting, `${lane.total ?? 0} p`);
      set(lane.values.wait, units.time(lane.wait ?? 0));
      set(lane.values.rate, bps === null ? "–" : units.rate(bps));
      set(lane.values.dropped, marks ? `${drops} · ${marks} marked` : String(drops));
    }
  }

  look(labels) {
    for (const lane of this.#lanes)
      lane.card.classList.toggle("looked", labels.includes(lane.label));
  }
}

// A number, and its unit smaller.
function set(element, text) {
  if (element.textContent === text) return;
  const [, number, unit] = /^(\S+)(.*)$/.exec(text);
  element.replaceChildren(number, make("small", {}, unit));
}

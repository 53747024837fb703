// Hosts and links, with the packets under way between them.

import { colour, flowColour } from "./style.js";

/**
 * @import { Moving, Stage } from "./messages.js"
 *
 * A packet under way, from one place on its link to another (0 to 1).
 * @typedef {object} Moves
 * @property {number} id
 * @property {number} flow
 * @property {number} kind its class
 * @property {number} link
 * @property {number} from
 * @property {number} to
 */

export const HEIGHT = 84;
const MARGIN = 44;
const EDGE = 4; // room beside a name
const MANY = 12; // the names of more nodes are not written

/**
 * @param {number} from
 * @param {number} to
 * @param {number} share
 */
export const between = (from, to, share) => from + (to - from) * share;

export class Network {
  /** @type {Map<string, Moves>} */
  #moving = new Map();

  get moving() {
    return this.#moving.values();
  }

  clear() {
    this.#moving.clear();
  }

  /**
   * @param {Moving[]} moving
   * @param {number} share how far packets have come from where they were to where they are, 0 to 1
   */
  take(moving, share) {
    const before = this.#moving;
    this.#moving = new Map();
    for (const [place, [id, flow, kind, , link, to]] of moving.entries()) {
      if (link < 0) continue;
      const key = id ? `${id}/${link}` : `?${flow}/${link}/${place}`;
      const old = before.get(key);
      const from = old ? Math.min(between(old.from, old.to, share), to) : to;
      this.#moving.set(key, { id, flow, kind, link, from, to });
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Stage} stage
   * @param {Map<number, number>} places of flows among those of their class
   * @param {number} width
   * @param {number} share as of `take`
   * @param {(x: number, y: number) => void} under draws what is under the packets, at the beginning
   *   of the link whose queue is shown
   */
  draw(pen, stage, places, width, share, under) {
    const spots = new Map(
      stage.nodes.map(({ name, x, y }) => [
        name,
        { x: MARGIN + x * (width - 2 * MARGIN), y: 22 + y * (HEIGHT - 46), low: y >= 0.5 },
      ]),
    );
    const ends = stage.links.map(link => ({
      a: spots.get(link.source),
      b: spots.get(link.target),
      link,
    }));
    for (const { a, b, link } of ends) {
      if (!a || !b || (link.reverse && !link.watched)) continue;
      pen.strokeStyle = colour(link.watched ? "--accent" : "--wall");
      pen.lineWidth = link.watched ? 3 : 1.5;
      pen.beginPath();
      pen.moveTo(a.x, a.y);
      pen.lineTo(b.x, b.y);
      pen.stroke();
      if (link.watched) under(a.x, a.y);
    }
    for (const packet of this.#moving.values()) {
      const { a, b } = ends[packet.link] ?? {};
      if (!a || !b) continue;
      // Each direction is drawn to the left of its link.
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const aside = 6 / (Math.hypot(dx, dy) || 1);
      const at = between(packet.from, packet.to, share);
      const x = a.x + dx * at + dy * aside;
      const y = a.y + dy * at - dx * aside;
      pen.fillStyle = flowColour(packet.kind, places.get(packet.flow) ?? 0);
      pen.fillRect(x - 3, y - 2, 6, 4);
    }
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const [name, { x, y, low }] of spots) {
      pen.fillStyle = colour("--card");
      pen.strokeStyle = colour("--ink");
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.arc(x, y, spots.size > MANY ? 3.5 : 6, 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
      if (spots.size > MANY) continue;
      pen.fillStyle = colour("--quiet");
      pen.textBaseline = low ? "top" : "bottom";
      const half = pen.measureText(name).width / 2 + EDGE;
      const inside = Math.max(half, Math.min(width - half, x));
      pen.fillText(name, inside, low ? y + 11 : y - 11);
    }
  }
}

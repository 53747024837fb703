// The picture of a lane: hosts and links above, and below them the watched queue, packet by packet.
//
// A frame of the server gives every packet a place to be at; between frames packets glide there. The
// picture is drawn as often as the screen shows one, however many frames come.

import { FEW, FULL } from "./capacity.js";
import { between, Network, HEIGHT as STRIP } from "./network.js";
import { colour, flowColour, flowPlaces } from "./style.js";
import { reasonText } from "./units.js";

/**
 * @import { InnerQueue, LaneFrame, Stage } from "./messages.js"
 *
 * The lines of a row, through which its packets go to and fro.
 * @typedef {object} Way
 * @property {number} span length of a line
 * @property {number} lines
 * @property {number} step from a line to the next
 * @property {number} first top of the first line
 * @property {number} perByte length of a byte
 * @property {number} left
 * @property {number} right
 *
 * A row: an inner queue, and the part of it that is not drawn packet by packet.
 * @typedef {object} Row
 * @property {number} top
 * @property {number} height
 * @property {number} label height of its label
 * @property {InnerQueue} queue
 * @property {Way} way
 * @property {number} high height of its packets
 * @property {number} from where that part begins and ends
 * @property {number} to
 *
 * A packet that waits, on its way from one place in the lines of its row to another.
 * @typedef {object} Waits
 * @property {number} id
 * @property {number} flow
 * @property {number} kind its class
 * @property {number} marked
 * @property {Way} way
 * @property {number} from
 * @property {number} to
 * @property {number} since when it was at `from`, in ms
 * @property {boolean} fresh whether it has just come
 * @property {number} long
 * @property {number} high
 *
 * @typedef {{ id: number, flow: number, kind: number, from: number, to: number }} Sends
 * @typedef {{ flow: number, kind: number, reason: string, aside: number, since: number }} Falls
 */

const LOW = 180; // a lower picture is without hosts and links
const FALL = 46; // room under the queue for what falls out
const PIPE = 74; // room to the right of the queue for what is sent,
const MOUTH = 20; // and the part of it for the packet in transmission
const MOST_ENTERING = 5; // packets that are seen to come in between two frames
const MOST_FALLING = 80;
const FALLING_MS = 900;

export class Picture {
  #canvas;
  #pen;
  /** @type {Stage | null} */
  #stage = null;
  /** @type {Map<number, number>} */
  #places = new Map();
  /** @type {number[]} */
  #inner = [];
  #width = 0;
  #height = 0;
  #network = new Network();
  /** @type {Map<number, Waits>} */
  #waiting = new Map();
  /** @type {Falls[]} */
  #falling = [];
  /** @type {Row[]} */
  #rows = [];
  /** @type {Sends | null} */
  #sending = null;
  /** @type {LaneFrame | null} */
  #last = null;
  #full = FEW;
  #arrived = 0;
  #gap = 33; // the usual time from one frame to the next, in ms
  /** @type {number | null} */
  #chosen = null;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    const pen = canvas.getContext("2d");
    if (!pen) throw new Error("this browser draws no pictures");
    this.#canvas = canvas;
    this.#pen = pen;
  }

  /**
   * @param {Stage} stage
   * @param {number[]} inner numbers of the inner queues that have been shown; more are added to it
   */
  setStage(stage, inner) {
    this.#stage = stage;
    this.#places = flowPlaces(stage.flows);
    this.#inner = inner;
  }

  /** Everything starts anew, as after a jump. */
  clear() {
    this.#waiting.clear();
    this.#network.clear();
    this.#falling = [];
  }

  /**
   * What the server says there is now.
   * @param {LaneFrame} frame
   * @param {number} full bytes that every lane is drawn to hold, so that packets are of one size in
   *   all of them
   * @param {number} now in ms
   */
  take(frame, full, now) {
    this.#network.take(frame.moving, this.#glided(now));
    this.#full = full;
    this.#last = frame;
    this.#gap = Math.min(250, Math.max(16, 0.7 * this.#gap + 0.3 * (now - this.#arrived)));
    this.#arrived = now;
    this.#measure();
    this.#takeQueues(frame.queues, now);
    const before = this.#sending;
    this.#sending = null;
    if (frame.sending) {
      const [id, flow, kind, , to] = frame.sending;
      this.#sending = {
        id,
        flow,
        kind,
        from: before?.id === id ? before.to : Math.min(to, 0.05),
        to,
      };
    }
    for (const [, flow, kind, reason] of frame.gone) this.#drop(flow, kind, reason, now);
  }

  /** Whether the canvas has another size than before. */
  #measure() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (width === this.#width && height === this.#height) return false;
    this.#width = width;
    this.#height = height;
    const sharp = Math.min(2, devicePixelRatio || 1);
    this.#canvas.width = Math.round(width * sharp);
    this.#canvas.height = Math.round(height * sharp);
    this.#pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    return true;
  }

  /** The box in which packets wait. */
  get #tank() {
    const low = this.#height < LOW;
    const left = 26;
    const top = low ? 6 : STRIP + 18;
    const right = this.#width - PIPE;
    const bottom = this.#height - (low ? FALL - 14 : FALL);
    return { left, top, right, bottom, width: right - left, height: bottom - top };
  }

  /**
   * Each inner queue has a row, and the packets of a row go to and fro in as many lines as they
   * need, those that are served first at the right end of the first line.
   * @param {InnerQueue[]} queues
   * @param {number} now
   */
  #takeQueues(queues, now) {
    const tank = this.#tank;
    const shown = this.#shown(queues.length ? queues : [empty(0)]);
    const height = tank.height / shown.length;
    const label = shown.length > 1 ? 15 : 0;
    const before = this.#waiting;
    this.#waiting = new Map();
    // Where most are new, they cannot be seen to come in.
    const news = queues.flatMap(queue => queue.packets).filter(([id]) => !before.has(id)).length;
    this.#rows = shown.map((queue, place) =>
      this.#lay(
        queue,
        tank.top + place * height,
        height,
        label,
        before,
        news <= MOST_ENTERING,
        now,
      ),
    );
  }

  /**
   * The queues that are shown: those of before stay in their places, as far as there is room.
   * @param {InnerQueue[]} queues
   */
  #shown(queues) {
    const most = Math.max(1, Math.min(8, Math.floor(this.#tank.height / 26)));
    const own = this.#inner;
    for (const { id } of queues) if (!own.includes(id)) own.push(id);
    own.sort((a, b) => b - a);
    if (own.length > most) return queues.slice(0, most);
    return own.map(id => queues.find(queue => queue.id === id) ?? empty(id));
  }

  /**
   * A row, whose packets are put to their places in it.
   * @param {InnerQueue} queue
   * @param {number} top
   * @param {number} height
   * @param {number} label
   * @param {Map<number, Waits>} before
   * @param {boolean} enter whether new packets are seen to come in
   * @param {number} now
   * @returns {Row}
   */
  #lay(queue, top, height, label, before, enter, now) {
    const tank = this.#tank;
    const room = height - label - 8;
    const span = tank.width - 12;
    const { lines, perByte } = this.#scale(span, room);
    const step = Math.min(48, room / lines);
    const high = Math.max(2, step - Math.min(5, step * 0.25));
    const first = top + label + 4 + (room - lines * step + step - high) / 2;
    const way = { span, lines, step, first, perByte, right: tank.right - 6, left: tank.left + 6 };
    let at = 0;
    let drawn = 0;
    for (const [id, flow, kind, bytes, , marked] of queue.packets) {
      drawn += bytes;
      const long = Math.max(2.5, bytes * perByte);
      const line = Math.floor(at / span);
      if (Math.floor((at + long - 0.01) / span) > line && long < span) at = (line + 1) * span;
      const to = at;
      at += long;
      if (to >= lines * span) continue;
      const old = before.get(id);
      let from = to;
      if (!old && enter) from = lines === 1 ? span + 14 : to + 40;
      else if (old && alike(old.way, way)) from = this.#along(old, now);
      this.#waiting.set(id, {
        id,
        flow,
        kind,
        marked,
        way,
        from,
        to,
        since: now,
        fresh: !old && enter,
        long: Math.max(1, long - (long > 5 ? 1.5 : 0.4)),
        high,
      });
    }
    const rest = queue.total > queue.packets.length ? (queue.bytes - drawn) * perByte : 0;
    const to = Math.min(lines * span, at + rest);
    return { top, height, label, queue, way, high, from: at, to };
  }

  /**
   * How long a byte is drawn, and in how many lines.
   * @param {number} span
   * @param {number} room
   */
  #scale(span, room) {
    const mostLines = Math.max(1, Math.floor(room / 7));
    for (let lines = 1; ; lines++) {
      const perByte = (span * lines * 0.96) / this.#full;
      if (perByte * FULL >= 9 || lines === mostLines) {
        return { lines, perByte: Math.min(perByte, 26 / FULL) };
      }
    }
  }

  /**
   * @param {number} flow
   * @param {number} kind
   * @param {string} reason
   * @param {number} now
   */
  #drop(flow, kind, reason, now) {
    const before = this.#falling.length;
    if (before >= MOST_FALLING) return;
    this.#falling.push({ flow, kind, reason, aside: before * 37, since: now });
  }

  /**
   * How far what moves has come from where one frame had it to where the next has it, 0 to 1.
   * @param {number} now
   */
  #glided(now, since = this.#arrived) {
    return Math.min(1, Math.max(0, (now - since) / this.#gap));
  }

  /**
   * How far from the head a packet is on its way through the lines of its row.
   * @param {Waits} packet
   * @param {number} now
   */
  #along(packet, now) {
    return between(packet.from, packet.to, this.#glided(now, packet.since));
  }

  /**
   * The top left corner of a packet.
   * @param {Waits} packet
   * @param {number} now
   */
  #placed(packet, now) {
    const { way, long } = packet;
    const at = this.#along(packet, now);
    const line = Math.min(way.lines - 1, Math.floor((at + long / 2) / way.span));
    return onLine(way, line, at, long);
  }

  /** @param {number} now in ms */
  draw(now) {
    if (this.#measure() && this.#last) {
      this.#waiting.clear();
      this.#takeQueues(this.#last.queues, now);
    }
    if (!this.#stage || !this.#width) return;
    this.#pen.clearRect(0, 0, this.#width, this.#height);
    if (this.#height >= LOW) {
      const under = this.#drawLens.bind(this);
      const share = this.#glided(now);
      this.#network.draw(this.#pen, this.#stage, this.#places, this.#width, share, under);
    }
    this.#drawTank();
    for (const packet of this.#waiting.values()) this.#drawPacket(packet, now);
    this.#drawSent(this.#stage, now);
    this.#drawFalling(now);
  }

  /**
   * The queue below is what waits at the beginning of the watched link.
   * @param {number} x
   * @param {number} y
   */
  #drawLens(x, y) {
    const pen = this.#pen;
    const tank = this.#tank;
    pen.fillStyle = colour("--shade");
    pen.beginPath();
    pen.moveTo(x - 7, y);
    pen.lineTo(x + 7, y);
    pen.lineTo(tank.right, tank.top);
    pen.lineTo(tank.left, tank.top);
    pen.closePath();
    pen.globalAlpha = 0.75;
    pen.fill();
    pen.globalAlpha = 1;
  }

  #drawTank() {
    const pen = this.#pen;
    const tank = this.#tank;
    pen.fillStyle = colour("--tank");
    pen.fillRect(tank.left, tank.top, tank.width, tank.height);
    this.#line("--wall", 1.5, [tank.left, tank.top], [tank.right, tank.top]);
    this.#line("--wall", 1.5, [tank.left, tank.bottom], [tank.right, tank.bottom]);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "top";
    for (const [place, row] of this.#rows.entries()) {
      if (place) this.#line("--line", 1, [tank.left, row.top], [tank.right, row.top]);
      this.#drawRest(row);
      if (!row.label) continue;
      pen.fillStyle = colour("--quiet");
      pen.textAlign = "left";
      pen.fillText(`queue ${row.queue.id}`, tank.left + 6, row.top + 4);
      pen.textAlign = "right";
      pen.fillText(String(row.queue.total), tank.right - 6, row.top + 4);
    }
    const y = (tank.top + tank.bottom) / 2;
    pen.fillStyle = colour("--tank");
    pen.fillRect(tank.right, y - 15, PIPE, 30);
    for (const [from, to] of [
      [tank.top, y - 15],
      [tank.bottom, y + 15],
    ]) {
      this.#line("--wall", 1.5, [tank.right, from], [tank.right, to], [this.#width, to]);
    }
  }

  /**
   * @param {string} ink
   * @param {number} width
   * @param {...[x: number, y: number]} points
   */
  #line(ink, width, ...points) {
    const pen = this.#pen;
    pen.strokeStyle = colour(ink);
    pen.lineWidth = width;
    pen.beginPath();
    for (const [x, y] of points) pen.lineTo(x, y);
    pen.stroke();
  }

  /**
   * Packets that wait behind those of which the server tells.
   * @param {Row} row
   */
  #drawRest({ from, to, way, high }) {
    this.#pen.globalAlpha = 0.35;
    for (let at = from; at < to - 0.5; ) {
      const line = Math.floor(at / way.span);
      const end = Math.min(to, (line + 1) * way.span);
      const { x, y } = onLine(way, line, at, end - at);
      this.#box(x, y, end - at, high, colour("--wall"));
      at = end;
    }
    this.#pen.globalAlpha = 1;
  }

  /**
   * What the watched link has in transmission and on its way, in the pipe.
   * @param {Stage} stage
   * @param {number} now
   */
  #drawSent(stage, now) {
    const tank = this.#tank;
    const y = (tank.top + tank.bottom) / 2;
    const share = this.#glided(now);
    const begin = tank.right + MOUTH;
    for (const packet of this.#network.moving) {
      if (!stage.links[packet.link]?.watched || packet.id === this.#sending?.id) continue;
      const at = between(packet.from, packet.to, share);
      this.#box(begin + at * (PIPE - MOUTH), y - 9, 7, 18, this.#fill(packet));
    }
    if (!this.#sending) return;
    const sent = between(this.#sending.from, this.#sending.to, share);
    this.#box(tank.right - 6 + sent * MOUTH, y - 9, 9, 18, this.#fill(this.#sending));
  }

  /**
   * @param {Waits} packet
   * @param {number} now
   */
  #drawPacket(packet, now) {
    const { x, y } = this.#placed(packet, now);
    const { long, high } = packet;
    const pen = this.#pen;
    if (packet.fresh) pen.globalAlpha = Math.min(1, 0.2 + (now - packet.since) / this.#gap);
    this.#box(x, y, long, high, this.#fill(packet));
    if (packet.marked) {
      pen.fillStyle = colour("--ink");
      pen.fillRect(x, y, long, Math.max(2, high / 8));
    }
    pen.globalAlpha = 1;
    if (packet.id !== this.#chosen) return;
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 2;
    pen.strokeRect(x - 1.5, y - 1.5, long + 3, high + 3);
  }

  /** @param {number} now */
  #drawFalling(now) {
    const pen = this.#pen;
    const tank = this.#tank;
    this.#falling = this.#falling.filter(each => now - each.since < FALLING_MS);
    if (!this.#falling.length) return;
    const reasons = new Set(this.#falling.map(each => reasonText(each.reason)));
    const words = `dropped: ${[...reasons].join(", ")}`;
    pen.font = "600 12px system-ui, sans-serif";
    // They fall beside the words.
    const free = tank.width - pen.measureText(words).width - 34;
    const wide = Math.max(1, Math.min(0.55 * tank.width, free));
    for (const each of this.#falling) {
      const share = Math.max(0, (now - each.since) / FALLING_MS);
      pen.globalAlpha = 1 - share;
      const y = tank.bottom + 4 + share * share * (FALL - 14);
      const x = tank.left + 18 + (each.aside % wide);
      this.#box(x, y, 10, 10, this.#fill(each));
      pen.strokeStyle = colour("--bad");
      pen.lineWidth = 1.5;
      pen.strokeRect(x, y, 10, 10);
    }
    pen.globalAlpha = 1;
    pen.fillStyle = colour("--bad");
    pen.textAlign = "right";
    pen.textBaseline = "bottom";
    pen.fillText(words, tank.right, this.#height - 8);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {string} fill
   */
  #box(x, y, width, height, fill) {
    const pen = this.#pen;
    pen.fillStyle = fill;
    if (width < 5 || height < 5) {
      pen.fillRect(x, y, width, height);
      return;
    }
    pen.beginPath();
    pen.roundRect(x, y, width, height, 2);
    pen.fill();
  }

  /** @param {{ flow: number, kind: number }} packet */
  #fill({ flow, kind }) {
    return flowColour(kind, this.#places.get(flow) ?? 0);
  }

  /**
   * The packet at a point, or the nearest one; null if none is near.
   * @param {number} x
   * @param {number} y
   */
  at(x, y) {
    const now = performance.now();
    let best = null;
    let least = 14;
    for (const packet of this.#waiting.values()) {
      const place = this.#placed(packet, now);
      const dx = Math.max(place.x - x, 0, x - place.x - packet.long);
      const dy = Math.max(place.y - y, 0, y - place.y - packet.high);
      const far = Math.hypot(dx, dy);
      if (far < least) {
        least = far;
        best = packet;
      }
    }
    return best;
  }

  /** The packets in order of service, for the keyboard. */
  get inOrder() {
    const ids = this.#rows.flatMap(row => row.queue.packets.map(([id]) => id));
    return ids.flatMap(id => this.#waiting.get(id) ?? []);
  }

  get chosen() {
    return this.#chosen;
  }

  /** @param {number} id of a packet */
  choose(id) {
    this.#chosen = id;
  }
}

/**
 * @param {number} id
 * @returns {InnerQueue}
 */
const empty = id => ({ id, packets: [], total: 0, bytes: 0 });

/**
 * Whether packets have the same places in both, so that they can glide from one to the other.
 * @param {Way} one
 * @param {Way} other
 */
const alike = (one, other) =>
  one.lines === other.lines && one.perByte === other.perByte && one.first === other.first;

/**
 * The top left corner of what begins at some length of the way and is in one of its lines.
 * @param {Way} way
 * @param {number} line
 * @param {number} at
 * @param {number} long
 */
function onLine(way, line, at, long) {
  const along = at - line * way.span;
  const x = line % 2 === 0 ? way.right - along - long : way.left + along;
  return { x, y: way.first + line * way.step };
}

// The picture of a lane: hosts and links above, and below them the watched queue, packet by packet.
//
// A frame of the server gives every packet a place to be at; between frames packets glide there. The
// picture is drawn as often as the screen shows one, however many frames come.

import { classColour, colour } from "./style.js";

const STRIP = 84; // height of hosts and links; a low picture is without them
const LOW = 180;
const FALL = 46; // room under the queue for what falls out
const PIPE = 74; // room to the right of the queue for what is sent,
const MOUTH = 20; // and the part of it for the packet in transmission
const FULL = 1500; // bytes of a packet of full size
const FEW = 20 * FULL; // what a queue is drawn to hold at least
const MOST_ENTERING = 5; // packets that are seen to come in between two frames
const FALLING_MS = 900;
const SHADES = [0, 0.24, -0.22, 0.42, -0.36];
const REASONS = {
  overflow: "no room",
  aqm: "by the rule",
  preempted: "for precedence",
  policed: "policed",
  pushed_out: "pushed out",
  redundant_ack: "redundant",
};

export const reasonText = reason => REASONS[reason] ?? reason;

export class Picture {
  #canvas;
  #pen;
  #stage;
  #lane;
  #width = 0;
  #height = 0;
  #waiting = new Map();
  #moving = new Map();
  #falling = [];
  #rows = [];
  #enter = true;
  #most = 0;
  #last = null;
  #arrived = 0;
  #gap = 33;
  #sending = null;
  #chosen = null;
  #capacity = null;

  constructor(canvas) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d");
  }

  setStage(stage, lane) {
    this.#stage = stage;
    this.#lane = lane;
    this.#capacity = capacity(lane);
  }

  // Everything starts anew, as after a jump.
  clear() {
    this.#waiting.clear();
    this.#moving.clear();
    this.#falling = [];
  }

  // What the server says there is now. `most` is what the fullest queue of all lanes holds, in bytes,
  // so that packets are of one size in all of them.
  take(frame, most, now) {
    this.#most = most;
    this.#last = frame;
    this.#gap = Math.min(250, Math.max(16, 0.7 * this.#gap + 0.3 * (now - this.#arrived)));
    this.#arrived = now;
    this.#measure();
    this.#takeQueue(frame, now);
    this.#takeMoving(frame);
    const before = this.#sending;
    this.#sending = frame.sending && {
      id: frame.sending[0],
      flow: frame.sending[1],
      kind: frame.sending[2],
      share: frame.sending[4],
      from: before?.id === frame.sending[0] ? before.share : Math.min(frame.sending[4], 0.05),
    };
    for (const [, flow, kind, reason] of frame.gone) this.#drop(flow, kind, reason, now);
  }

  // Whether the canvas has another size than before.
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

  get #tank() {
    const left = 26;
    const low = this.#height < LOW;
    return {
      left,
      top: low ? 6 : STRIP + 18,
      right: this.#width - PIPE,
      bottom: this.#height - (low ? FALL - 14 : FALL),
      get width() {
        return this.right - this.left;
      },
      get height() {
        return this.bottom - this.top;
      },
    };
  }

  // Each inner queue has a row, and the packets of a row go to and fro in as many lines as they
  // need, those that are served first at the right end of the first line.
  #takeQueue(frame, now) {
    const tank = this.#tank;
    const queues = frame.queues.length
      ? frame.queues
      : [{ id: 0, packets: [], total: 0, bytes: 0 }];
    const known = this.#inner(queues);
    const height = tank.height / known.length;
    const label = known.length > 1 ? 15 : 0;
    const seen = new Set();
    // Where most are new, there is no way that they could be seen to have come.
    const news = queues.reduce(
      (sum, each) => sum + each.packets.reduce((count, [id]) => count + !this.#waiting.has(id), 0),
      0,
    );
    this.#enter = news <= MOST_ENTERING;
    this.#rows = known.map((queue, place) => ({
      top: tank.top + place * height,
      height,
      label,
      queue,
    }));
    for (const row of this.#rows) this.#lay(row, seen, now);
    for (const id of this.#waiting.keys()) if (!seen.has(id)) this.#waiting.delete(id);
  }

  // The queues that are shown: those of before stay in their places, as far as there is room.
  #inner(queues) {
    const most = Math.max(1, Math.min(8, Math.floor(this.#tank.height / 26)));
    const own = this.#lane.inner;
    for (const { id } of queues) if (!own.includes(id)) own.push(id);
    own.sort((a, b) => b - a);
    const by = new Map(queues.map(queue => [queue.id, queue]));
    let shown = own;
    if (own.length > most) shown = queues.slice(0, most).map(queue => queue.id);
    return shown.map(id => by.get(id) ?? { id, packets: [], total: 0, bytes: 0 });
  }

  #lay(row, seen, now) {
    const tank = this.#tank;
    const room = row.height - row.label - 8;
    const packets = row.queue.packets;
    const { lines, perByte } = this.#scale(row, tank.width - 12, room);
    const step = Math.min(48, room / lines);
    const high = Math.max(2, step - Math.min(5, step * 0.25));
    const first = row.top + row.label + 4 + (room - lines * step + step - high) / 2;
    const span = tank.width - 12;
    const way = { span, lines, step, first, perByte, right: tank.right - 6, left: tank.left + 6 };
    let at = 0;
    for (const [id, flow, kind, bytes, age, marked] of packets) {
      const long = Math.max(2.5, bytes * perByte);
      const line = Math.floor(at / span);
      if (Math.floor((at + long - 0.01) / span) > line && long < span) at = (line + 1) * span;
      const to = at;
      at += long;
      seen.add(id);
      if (to >= lines * span) {
        this.#waiting.delete(id);
        continue;
      }
      const old = this.#waiting.get(id);
      const same =
        old?.way.lines === lines && old.way.perByte === perByte && old.way.first === first;
      const behind = this.#enter ? (lines === 1 ? span + 14 : to + 40) : to;
      const from = !old ? behind : same ? this.#along(old, now) : to;
      this.#waiting.set(id, {
        id,
        flow,
        kind,
        bytes,
        age,
        marked,
        way,
        from,
        to,
        since: now,
        fresh: !old && this.#enter,
        long: Math.max(1, long - (long > 5 ? 1.5 : 0.4)),
        high,
      });
    }
    const shown = packets.reduce((sum, packet) => sum + packet[3], 0);
    const end = Math.min(lines * span, at + (row.queue.bytes - shown) * perByte);
    row.rest = { from: at, to: row.queue.total > packets.length ? end : at, way, high };
  }

  // How long a byte is drawn, and in how many lines: as large as the fullest queue allows.
  #scale(row, span, room) {
    let bytes = FEW;
    while (bytes < this.#most) bytes *= 2;
    const limit = this.#capacity(row.queue.id);
    if (limit !== null && limit >= this.#most) bytes = Math.min(bytes, limit);
    const mostLines = Math.max(1, Math.floor(room / 7));
    for (let lines = 1; ; lines++) {
      const perByte = (span * lines * 0.96) / bytes;
      if (perByte * FULL >= 9 || lines === mostLines) {
        return { lines, perByte: Math.min(perByte, 26 / FULL) };
      }
    }
  }

  #takeMoving(frame) {
    const seen = new Set();
    frame.moving.forEach(([id, flow, kind, , link, share], place) => {
      if (link < 0) return;
      const key = id ? `${id}/${link}` : `?${flow}/${link}/${place}`;
      const old = this.#moving.get(key);
      seen.add(key);
      const from = old ? old.from + (old.share - old.from) * this.#eased(performance.now()) : share;
      this.#moving.set(key, { id, flow, kind, link, from: Math.min(from, share), share });
    });
    for (const key of this.#moving.keys()) if (!seen.has(key)) this.#moving.delete(key);
  }

  #drop(flow, kind, reason, now) {
    const tank = this.#tank;
    if (this.#falling.length > 80) return;
    const late = this.#falling.length;
    const x = tank.left + 18 + ((late * 37) % Math.max(40, tank.width * 0.55));
    this.#falling.push({ flow, kind, reason, x, since: now });
  }

  #eased(now) {
    return Math.min(1, Math.max(0, (now - this.#arrived) / this.#gap));
  }

  // How far from the head a packet is on its way through the lines of its row.
  #along(sprite, now) {
    const share = Math.min(1, Math.max(0, (now - sprite.since) / this.#gap));
    return sprite.from + (sprite.to - sprite.from) * share;
  }

  #placed(sprite, now) {
    const { way, long } = sprite;
    const at = this.#along(sprite, now);
    const line = Math.min(way.lines - 1, Math.floor((at + long / 2) / way.span));
    const along = at - line * way.span;
    const x = line % 2 === 0 ? way.right - along - long : way.left + along;
    return { x, y: way.first + line * way.step };
  }

  draw(now) {
    if (this.#measure() && this.#last) {
      this.#waiting.clear();
      this.#takeQueue(this.#last, now);
    }
    if (!this.#stage || !this.#width) return;
    this.#pen.clearRect(0, 0, this.#width, this.#height);
    if (this.#height >= LOW) this.#drawNetwork(now);
    this.#drawTank();
    for (const sprite of this.#waiting.values()) this.#drawPacket(sprite, now);
    this.#drawSent(now);
    this.#drawFalling(now);
  }

  #place(node) {
    const margin = 44;
    return { x: margin + node.x * (this.#width - 2 * margin), y: 22 + node.y * (STRIP - 46) };
  }

  #drawNetwork(now) {
    const pen = this.#pen;
    const nodes = new Map(this.#stage.nodes.map(node => [node.name, this.#place(node)]));
    const ends = this.#stage.links.map(link => ({
      a: nodes.get(link.source),
      b: nodes.get(link.target),
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
      if (link.watched) this.#drawLens(a);
    }
    const share = this.#eased(now);
    for (const packet of this.#moving.values()) {
      const end = ends[packet.link];
      if (!end?.a || !end.b) continue;
      const at = packet.from + (packet.share - packet.from) * share;
      const side = end.link.reverse ? 6 : -6;
      const [dx, dy] = [end.b.x - end.a.x, end.b.y - end.a.y];
      const length = Math.hypot(dx, dy) || 1;
      const turn = end.link.reverse ? -1 : 1;
      const x = end.a.x + dx * at - (dy / length) * side * turn;
      const y = end.a.y + dy * at + (dx / length) * side * turn;
      pen.fillStyle = this.#fill(packet);
      pen.fillRect(x - 3, y - 2, 6, 4);
    }
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    const many = this.#stage.nodes.length > 12;
    for (const node of this.#stage.nodes) {
      const { x, y } = nodes.get(node.name);
      pen.fillStyle = colour("--card");
      pen.strokeStyle = colour("--ink");
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.arc(x, y, many ? 3.5 : 6, 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
      if (many) continue;
      pen.fillStyle = colour("--quiet");
      pen.textBaseline = node.y < 0.5 ? "bottom" : "top";
      pen.fillText(node.name, x, node.y < 0.5 ? y - 11 : y + 11);
    }
  }

  // The queue below is what waits at the beginning of the watched link.
  #drawLens(at) {
    const pen = this.#pen;
    const tank = this.#tank;
    pen.fillStyle = colour("--shade");
    pen.beginPath();
    pen.moveTo(at.x - 7, at.y);
    pen.lineTo(at.x + 7, at.y);
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
    pen.strokeStyle = colour("--wall");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(tank.left, tank.top);
    pen.lineTo(tank.right, tank.top);
    pen.moveTo(tank.left, tank.bottom);
    pen.lineTo(tank.right, tank.bottom);
    pen.stroke();
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "top";
    pen.textAlign = "left";
    for (const [place, row] of this.#rows.entries()) {
      if (place) {
        pen.strokeStyle = colour("--line");
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(tank.left, row.top);
        pen.lineTo(tank.right, row.top);
        pen.stroke();
      }
      this.#drawRest(row.rest);
      if (!row.label) continue;
      pen.fillStyle = colour("--quiet");
      pen.fillText(`queue ${row.queue.id}`, tank.left + 6, row.top + 4);
      pen.textAlign = "right";
      pen.fillText(String(row.queue.total), tank.right - 6, row.top + 4);
      pen.textAlign = "left";
    }
    this.#drawPipe();
  }

  // Packets that wait behind those of which the server tells.
  #drawRest({ from, to, way, high }) {
    this.#pen.globalAlpha = 0.35;
    for (let at = from; at < to - 0.5; ) {
      const line = Math.floor(at / way.span);
      const end = Math.min(to, (line + 1) * way.span);
      const long = end - at;
      const along = at - line * way.span;
      const x = line % 2 === 0 ? way.right - along - long : way.left + along;
      this.#box(x, way.first + line * way.step, long, high, colour("--wall"));
      at = end;
    }
    this.#pen.globalAlpha = 1;
  }

  #drawPipe() {
    const pen = this.#pen;
    const tank = this.#tank;
    const y = (tank.top + tank.bottom) / 2;
    pen.fillStyle = colour("--tank");
    pen.fillRect(tank.right, y - 15, PIPE, 30);
    pen.strokeStyle = colour("--wall");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(tank.right, tank.top);
    pen.lineTo(tank.right, y - 15);
    pen.lineTo(this.#width, y - 15);
    pen.moveTo(tank.right, tank.bottom);
    pen.lineTo(tank.right, y + 15);
    pen.lineTo(this.#width, y + 15);
    pen.stroke();
  }

  // What the watched link has in transmission and on its way, in the pipe.
  #drawSent(now) {
    const tank = this.#tank;
    const y = (tank.top + tank.bottom) / 2;
    const share = this.#eased(now);
    const begin = tank.right + MOUTH;
    for (const packet of this.#moving.values()) {
      if (!this.#stage.links[packet.link]?.watched || packet.id === this.#sending?.id) continue;
      const at = packet.from + (packet.share - packet.from) * share;
      this.#box(begin + at * (PIPE - MOUTH), y - 9, 7, 18, this.#fill(packet));
    }
    if (!this.#sending) return;
    const sent = this.#sending.from + (this.#sending.share - this.#sending.from) * share;
    this.#box(tank.right - 6 + sent * MOUTH, y - 9, 9, 18, this.#fill(this.#sending));
  }

  #drawPacket(sprite, now) {
    const { x, y } = this.#placed(sprite, now);
    const pen = this.#pen;
    if (sprite.fresh) pen.globalAlpha = Math.min(1, 0.2 + (now - sprite.since) / this.#gap);
    this.#box(x, y, sprite.long, sprite.high, this.#fill(sprite));
    if (sprite.marked) {
      pen.fillStyle = colour("--ink");
      pen.fillRect(x, y, sprite.long, Math.max(2, sprite.high / 8));
    }
    pen.globalAlpha = 1;
    if (sprite.id !== this.#chosen) return;
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 2;
    pen.strokeRect(x - 1.5, y - 1.5, sprite.long + 3, sprite.high + 3);
  }

  #drawFalling(now) {
    const pen = this.#pen;
    const tank = this.#tank;
    this.#falling = this.#falling.filter(each => now - each.since < FALLING_MS);
    const named = new Set();
    for (const each of this.#falling) {
      const share = Math.max(0, (now - each.since) / FALLING_MS);
      pen.globalAlpha = 1 - share;
      const y = tank.bottom + 4 + share * share * (FALL - 14);
      this.#box(each.x, y, 10, 10, this.#fill(each));
      pen.strokeStyle = colour("--bad");
      pen.lineWidth = 1.5;
      pen.strokeRect(each.x, y, 10, 10);
      named.add(each.reason);
    }
    pen.globalAlpha = 1;
    if (!named.size) return;
    pen.fillStyle = colour("--bad");
    pen.font = "600 12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "bottom";
    pen.fillText(`dropped: ${[...named].map(reasonText).join(", ")}`, tank.right, this.#height - 8);
  }

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

  // Flows of a class have its colour in several shades.
  #fill({ flow, kind }) {
    const place = this.#stage.flowPlace?.get(flow) ?? 0;
    return shaded(colour(classColour(kind)), SHADES[place % SHADES.length]);
  }

  // The packet at a point, or the nearest one.
  at(x, y) {
    const now = performance.now();
    let best = null;
    let least = 14;
    for (const sprite of this.#waiting.values()) {
      const place = this.#placed(sprite, now);
      const dx = Math.max(place.x - x, 0, x - place.x - sprite.long);
      const dy = Math.max(place.y - y, 0, y - place.y - sprite.high);
      const far = Math.hypot(dx, dy);
      if (far < least) {
        least = far;
        best = sprite;
      }
    }
    return best;
  }

  // The packets in order of service, for the keyboard.
  get inOrder() {
    return this.#rows
      .flatMap(row => row.queue.packets.map(([id]) => this.#waiting.get(id)))
      .filter(Boolean);
  }

  get chosen() {
    return this.#chosen;
  }
  choose(id) {
    this.#chosen = id;
  }
}

// Bytes that an inner queue may hold, as far as the discipline's parameters say.
function capacity(lane) {
  const queue = lane.queue;
  const whole =
    lane.limit_bytes ?? (lane.limit_packets === null ? null : lane.limit_packets * FULL);
  const bytes = limit => {
    const found = /^([\d.]+)\s*([a-zA-Z]+)$/.exec(limit ?? "");
    if (!found) return null;
    const scale = { p: FULL, B: 1, KB: 1e3, MB: 1e6, GB: 1e9 }[found[2]];
    return scale ? Number(found[1]) * scale : null;
  };
  return id => {
    const own = queue.queues?.[id]?.limit ?? queue.limit;
    return bytes(Array.isArray(own) ? own[Math.min(id, own.length - 1)] : own) ?? whole;
  };
}

const shades = new Map();
function shaded(rgb, by) {
  if (!by) return rgb;
  const key = `${rgb}${by}`;
  if (!shades.has(key)) {
    const target = by > 0 ? 255 : 0;
    const parts = rgb
      .match(/[\d.]+/g)
      .slice(0, 3)
      .map(Number);
    const mixed = parts.map(part => Math.round(part + (target - part) * Math.abs(by)));
    shades.set(key, `rgb(${mixed.join(" ")})`);
  }
  return shades.get(key);
}

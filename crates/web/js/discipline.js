// Disciplines in JavaScript: what the module calls (crates/web/src/plug.rs), and what a class of a
// reader can use. The names are those of disciplines in Python (docs/extending.md).

/**
 * @typedef {{
 *   memory: WebAssembly.Memory, room: (bytes: number) => number, answer: () => number,
 *   length: () => number, drop_packet: (id: number, reason: number) => void,
 *   mark_packet: (id: number) => void, random: () => number,
 * }} Exports
 * @typedef {{ setup?: () => void, enqueue: (packet: Packet, now: number) => void,
 *   dequeue: (now: number) => Packet | null | undefined, wake?: (now: number) => number | null,
 * } & Discipline & Record<string, any>} Written
 */

const REASONS = ["overflow", "aqm", "preempted", "policed", "pushed-out", "redundant-ack", "other"];
const KINDS = ["data", "ack", "control"];
const FAILED = -2;
const IDLE = -1;

/** A packet that a discipline holds. Times are in ns, sizes in bytes. */
export class Packet {
  left = false;

  /**
   * @param {Discipline} of its queue
   * @param {number[]} fields as the module gives them
   * @param {number} queued
   */
  constructor(of, fields, queued) {
    const [id, len, flow, qosClass, precedence, dropPrecedence, tos, kind, source, to] = fields;
    this.of = of;
    this.id = id;
    this.len = len;
    this.flow = flow;
    this.qosClass = qosClass;
    this.precedence = precedence;
    this.dropPrecedence = dropPrecedence;
    this.dscp = tos >> 2;
    this.ecn = tos & 3;
    this.kind = KINDS[kind] ?? "data";
    this.source = source;
    this.destination = to;
    this.queued = queued;
    Object.seal(this);
  }
}

/** What a discipline extends. */
export class Discipline {
  /** Parameters with their defaults, which are numbers. @type {Record<string, number>} */
  static parameters = {};
  /** Whether it holds packets back although the link is free. */
  static shapes = false;
  /** Whether packets of a flow keep their order. */
  static keepsOrder = true;
  /** @type {Exports | null} */
  static module = null;

  /** Bits a second of the link. */
  rate = 0;
  /** Bytes of the largest packet. */
  mtu = 1500;

  /**
   * Drops a packet that it holds.
   * @param {Packet} packet
   * @param {string} [reason]
   */
  drop(packet, reason = "aqm") {
    const number = REASONS.indexOf(reason);
    if (number < 0) throw new Error(`unknown reason "${reason}"; one of ${REASONS.join(", ")}`);
    leaves(packet, this);
    Discipline.module?.drop_packet(packet.id, number);
  }

  /**
   * Marks a packet; false if its transport does not understand marks.
   * @param {Packet} packet
   */
  mark(packet) {
    held(packet, this);
    if (packet.ecn === 0) return false;
    packet.ecn = 3;
    Discipline.module?.mark_packet(packet.id);
    return true;
  }

  /** A random number from 0 to 1; equal seeds give equal ones. */
  random() {
    const found = Discipline.module?.random() ?? Number.NaN;
    if (Number.isNaN(found)) throw new Error("random numbers come with the first packet");
    return found;
  }
}

/**
 * @param {unknown} packet
 * @param {Discipline} of
 */
function held(packet, of) {
  if (!(packet instanceof Packet)) throw new Error(`expected a packet, got ${String(packet)}`);
  if (packet.of !== of) throw new Error(`packet ${packet.id} belongs to another queue`);
  if (packet.left) throw new Error(`packet ${packet.id} has already left: it was sent or dropped`);
}

/**
 * @param {Packet} packet
 * @param {Discipline} of
 */
function leaves(packet, of) {
  held(packet, of);
  packet.left = true;
}

/** The functions that a module with a playground imports, for one class. */
export class Host {
  /** @type {Exports | null} */
  #module = null;
  /** @type {Map<number, Written>} */
  #queues = new Map();
  #class;

  /** @param {typeof Discipline} written the class of a reader */
  constructor(written) {
    this.#class = written;
  }

  /** @param {WebAssembly.Instance} instance */
  begin(instance) {
    this.#module = /** @type {Exports} */ (/** @type {unknown} */ (instance.exports));
    Discipline.module = this.#module;
  }

  /** What the module is told of the class. */
  get plug() {
    const { parameters, shapes, keepsOrder, prototype } = this.#class;
    for (const name of ["enqueue", "dequeue"]) {
      if (typeof (/** @type {any} */ (prototype)[name]) !== "function") {
        throw new Error(`the class has no method ${name}`);
      }
    }
    const summary = "A discipline of the playground";
    return { name: "mine", summary, parameters, shapes, keeps_order: keepsOrder };
  }

  /**
   * What a call answers; a mistake in it is written where the module finds it.
   * @template T
   * @param {string} name of the method
   * @param {() => T} act
   * @returns {T | typeof FAILED}
   */
  #call(name, act) {
    try {
      return act();
    } catch (error) {
      const words = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      const bytes = new TextEncoder().encode(`${name}: ${words}`.slice(0, 2000));
      const { memory, room } = /** @type {Exports} */ (this.#module);
      new Uint8Array(memory.buffer, room(bytes.length), bytes.length).set(bytes);
      return FAILED;
    }
  }

  /** @param {number} queue */
  #of(queue) {
    return /** @type {Written} */ (this.#queues.get(queue));
  }

  imports = {
    discipline: {
      /** @type {(queue: number, rate: number, mtu: number) => number} */
      make: (queue, rate, mtu) =>
        this.#call("setup", () => {
          const { memory, answer, length } = /** @type {Exports} */ (this.#module);
          const bytes = new Uint8Array(memory.buffer, answer(), length());
          const params = JSON.parse(new TextDecoder().decode(bytes));
          const made = /** @type {Written} */ (new this.#class());
          Object.assign(made, params, { rate, mtu });
          this.#queues.set(queue, made);
          made.setup?.();
          return 0;
        }),
      /** @type {(queue: number, now: number, ...fields: number[]) => number} */
      enqueue: (queue, now, ...fields) =>
        this.#call("enqueue", () => {
          const of = this.#of(queue);
          const unsigned = fields.map(each => each >>> 0);
          of.enqueue(new Packet(of, unsigned, now), now);
          return 0;
        }),
      /** @type {(queue: number, now: number) => number} */
      dequeue: (queue, now) =>
        this.#call("dequeue", () => {
          const of = this.#of(queue);
          const packet = of.dequeue(now);
          if (packet === null || packet === undefined) return IDLE;
          leaves(packet, of);
          return packet.id;
        }),
      /** @type {(queue: number, now: number) => number} */
      wake: (queue, now) =>
        this.#call("wake", () => {
          const of = this.#of(queue);
          if (!of.wake) return now;
          const at = of.wake(now);
          if (at === null || at === undefined) return IDLE;
          if (typeof at !== "number" || !(at >= 0)) throw new Error(`${at} is no instant in ns`);
          return at;
        }),
      /** @type {(queue: number, rate: number) => void} */
      rate: (queue, rate) => {
        this.#of(queue).rate = rate;
      },
      /** @type {(queue: number) => void} */
      forget: queue => {
        this.#queues.delete(queue);
      },
    },
  };
}

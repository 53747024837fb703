// The points of a lane's series, in columns as the charts want them.

/**
 * @import { Point } from "./messages.js"
 * @typedef {(number | null)[]} Column a value for each point; null: it has none
 * @typedef {(point: Point) => number | null} Read
 */

const MOST = 12000;

export class History {
  /** @type {Point[]} */
  #points = [];
  #first = 0;
  /** @type {Map<string, Column>} */
  #columns = new Map();
  /** @type {Record<string, number[]> | null} */
  #ended = null;

  /**
   * Take points whose first has this number. Those before it are kept, others replaced.
   * @param {number} first
   * @param {Point[]} points
   * @returns whether the instant has jumped
   */
  take(first, points) {
    const keep = Math.max(0, first - this.#first);
    const missing = first > this.#first + this.#points.length;
    const jumped = keep < this.#points.length || missing;
    if (missing) {
      this.#points = [];
      this.#first = first;
    } else this.#points.length = Math.min(keep, this.#points.length);
    if (!points.length && !jumped) return jumped;
    for (const point of points) this.#points.push(point);
    if (this.#points.length > MOST) {
      const over = this.#points.length - MOST + MOST / 4;
      this.#points.splice(0, over);
      this.#first += over;
    }
    this.#columns.clear();
    this.#ended = null;
    return jumped;
  }

  get last() {
    return this.#points.at(-1) ?? null;
  }

  get first() {
    return this.#points[0] ?? null;
  }

  /**
   * A column of values, which is kept by its key until points come.
   * @param {string} key
   * @param {Read} read
   */
  column(key, read) {
    return this.#kept(key, () => this.#points.map(read));
  }

  /**
   * Sums of such a column up to each point, beginning with 0.
   * @param {string} key
   * @param {Read} read
   */
  sums(key, read) {
    return this.#kept(`sums of ${key}`, () => {
      const found = [0];
      for (const value of this.column(key, read)) found.push((found.at(-1) ?? 0) + (value ?? 0));
      return found;
    });
  }

  get times() {
    return /** @type {number[]} */ (this.column("t", point => point.t));
  }

  /** Drops and marks by reason, summed up from the first point on. */
  get ended() {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  #end() {
    /** @type {Record<string, number>} */
    const sums = { marked: 0 };
    /** @type {Record<string, number[]>} */
    const found = {};
    for (const [place, point] of this.#points.entries()) {
      for (const [reason, number] of Object.entries(point.dropped)) {
        sums[reason] = (sums[reason] ?? 0) + number;
      }
      sums.marked += point.marked;
      for (const [reason, sum] of Object.entries(sums)) {
        found[reason] ??= new Array(place).fill(0);
        found[reason].push(sum);
      }
    }
    if (!sums.marked) delete found.marked;
    return found;
  }

  /**
   * Mean of what `read` gives over the last `span` seconds; null without any.
   * @param {Read} read
   * @param {number} span
   */
  mean(read, span) {
    const end = this.last?.t ?? 0;
    let sum = 0;
    let number = 0;
    for (let place = this.#points.length - 1; place >= 0; place--) {
      const point = this.#points[place];
      if (point.t <= end - span) break;
      const value = read(point);
      if (value === null) continue;
      sum += value;
      number += 1;
    }
    return number ? sum / number : null;
  }

  /**
   * @param {string} key
   * @param {() => Column} compute
   */
  #kept(key, compute) {
    let found = this.#columns.get(key);
    if (!found) {
      found = compute();
      this.#columns.set(key, found);
    }
    return found;
  }
}

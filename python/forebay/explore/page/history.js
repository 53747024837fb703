// The points of a lane's series, in columns as the charts want them.

const MOST = 12000;

export class History {
  #points = [];
  #first = 0;
  #columns = new Map();

  // Points from number `first` on are these; those before are kept.
  take(first, points) {
    const keep = Math.max(0, first - this.#first);
    const jumped = keep < this.#points.length || first > this.#first + this.#points.length;
    if (first > this.#first + this.#points.length) {
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
    return jumped;
  }

  get length() {
    return this.#points.length;
  }
  get last() {
    return this.#points[this.#points.length - 1] ?? null;
  }
  get first() {
    return this.#points[0] ?? null;
  }

  // A column of values; `read` is kept by its key until points come.
  column(key, read) {
    if (!this.#columns.has(key)) this.#columns.set(key, this.#points.map(read));
    return this.#columns.get(key);
  }

  // Sums of such a column up to each point, beginning with 0.
  sums(key, read) {
    const name = `sums of ${key}`;
    if (!this.#columns.has(name)) {
      const found = [0];
      for (const value of this.column(key, read)) found.push(found.at(-1) + (value ?? 0));
      this.#columns.set(name, found);
    }
    return this.#columns.get(name);
  }

  get times() {
    return this.column("t", point => point.t);
  }

  // Drops and marks by reason, summed up from the first point on.
  get ended() {
    if (!this.#columns.has("ended")) {
      const sums = { marked: 0 };
      const found = {};
      this.#points.forEach((point, place) => {
        for (const [reason, number] of Object.entries(point.dropped)) {
          sums[reason] = (sums[reason] ?? 0) + number;
        }
        sums.marked += point.marked;
        for (const [reason, sum] of Object.entries(sums)) {
          found[reason] ??= new Array(place).fill(0);
          found[reason].push(sum);
        }
      });
      if (!sums.marked) delete found.marked;
      this.#columns.set("ended", found);
    }
    return this.#columns.get("ended");
  }

  // Mean of what `read` gives over the last `span` seconds; null without any.
  mean(read, span) {
    const end = this.last?.t ?? 0;
    let sum = 0;
    let number = 0;
    for (
      let place = this.#points.length - 1;
      place >= 0 && this.#points[place].t > end - span;
      place--
    ) {
      const value = read(this.#points[place]);
      if (value === null || value === undefined) continue;
      sum += value;
      number += 1;
    }
    return number ? sum / number : null;
  }
}

// How much the queues of a picture hold when they are full.

/** @import { InnerQueue, Lane } from "./messages.js" */

export const FULL = 1500; // bytes of a packet of full size
export const FEW = 20 * FULL; // what a queue is drawn to hold at least

/**
 * How many bytes lanes are drawn to hold if their fullest queue has held `most`: a few packets times
 * a power of two, or less if a queue that has room for `most` is full before.
 * @param {{ lane: Lane, queues: InnerQueue[] }[]} lanes
 * @param {number} most
 */
export function holding(lanes, most) {
  let bytes = FEW;
  while (bytes < most) bytes *= 2;
  for (const { lane, queues } of lanes) {
    const limits = queues.map(queue => capacity(lane, queue.id) ?? bytes);
    bytes = Math.min(bytes, ...limits.filter(limit => limit >= most));
  }
  return bytes;
}

/**
 * Bytes that an inner queue may hold, as far as the parameters of the lane's discipline say.
 * @param {Lane} lane
 * @param {number} id of the inner queue
 * @returns {number | null}
 */
function capacity(lane, id) {
  const whole =
    lane.limit_bytes ?? (lane.limit_packets === null ? null : lane.limit_packets * FULL);
  const { queues, limit } = /** @type {{ queues?: { limit?: unknown }[], limit?: unknown }} */ (
    lane.queue
  );
  const own = queues?.[id]?.limit ?? limit;
  return bytesOf(Array.isArray(own) ? own[Math.min(id, own.length - 1)] : own) ?? whole;
}

const SCALES = new Map(Object.entries({ p: FULL, B: 1, KB: 1e3, MB: 1e6, GB: 1e9 }));

/**
 * @param {unknown} limit as a scenario writes it, such as "45KB"
 * @returns {number | null}
 */
function bytesOf(limit) {
  const [, number, unit] = /^([\d.]+)\s*([a-zA-Z]+)$/.exec(String(limit)) ?? [];
  const scale = SCALES.get(unit ?? "");
  return scale === undefined ? null : Number(number) * scale;
}

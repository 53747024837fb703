// Runs in the page's workers, side by side.

/**
 * @typedef {{ scenario: Record<string, unknown>, tables: string[] }} Task
 * @typedef {{ name: string, bytes: Uint8Array }} Lent a file that scenarios read
 */

/**
 * What the tasks measured, as JSON, in their order.
 * @param {WebAssembly.Module} module
 * @param {Task[]} tasks
 * @param {Lent[]} files
 * @param {(share: number) => void} tell hears how much of the work is done, 0 to 1
 * @param {AbortSignal} signal ends every run
 * @returns {Promise<string[]>}
 */
export function run(module, tasks, files, tell, signal) {
  const many = Math.max(1, Math.min(tasks.length, navigator.hardwareConcurrency || 2));
  const shares = tasks.map(() => 0);
  /** @type {string[]} */
  const found = [];
  let next = 0;
  let left = tasks.length;
  const workers = Array.from({ length: many }, () => {
    return new Worker(new URL("run-worker.js", import.meta.url), { type: "module" });
  });
  const ended = () => {
    for (const each of workers) each.terminate();
  };
  return /** @type {Promise<string[]>} */ (
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      /** @param {Worker} worker */
      const give = worker => {
        if (next < tasks.length) worker.postMessage({ number: next, ...tasks[next] });
        next += 1;
      };
      for (const worker of workers) {
        worker.onerror = event => reject(new Error(event.message));
        worker.onmessage = ({ data }) => {
          if ("error" in data) reject(new Error(data.error));
          else if ("share" in data) shares[data.number] = data.share;
          else {
            [found[data.number], shares[data.number]] = [data.found, 1];
            left -= 1;
            if (left === 0) resolve(found);
            give(worker);
          }
          tell(shares.reduce((sum, each) => sum + each, 0) / tasks.length);
        };
        worker.postMessage({ module, files });
        give(worker);
      }
    })
  ).finally(ended);
}

// `ws` on the cluster module: the primary. One worker, as all peers have one core; `workers` in the settings for more.

import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';

const { workers: count = 1 } = JSON.parse(process.argv[2]);

// In turns is Node's default; a single worker accepts faster by itself.
if (count === 1) cluster.schedulingPolicy = cluster.SCHED_NONE;
cluster.setupPrimary({ exec: fileURLToPath(new URL('ws-worker.js', import.meta.url)) });
const workers = Array.from({ length: count }, () => cluster.fork());
cluster.on('exit', () => process.exit(1));

const answers = (handle) => Promise.all(workers.map((worker) => new Promise((resolve) => handle(worker, resolve))));

const [{ port }] = await answers((worker, resolve) => worker.once('message', resolve));
process.send({ ready: true, port, pids: [process.pid, ...workers.map(({ process: { pid } }) => pid)] });

process.on('message', async (order) => {
  const results = await answers((worker, resolve) => worker.once('message', resolve).send(order));
  process.send({ id: order.id, result: total(results.map(({ result }) => result)) });
});
process.on('disconnect', () => process.exit());

/** Sums of all figures but the moment of reading. */
function total(results) {
  const sums = {};
  for (const result of results)
    for (const [name, figure] of Object.entries(result)) sums[name] = (sums[name] ?? 0) + figure;
  return 'at' in sums ? { ...sums, at: sums.at / results.length } : sums;
}

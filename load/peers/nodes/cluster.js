// A server of many workers on one port. Each worker says when it listens; then the primary tells the port.

import cluster from 'node:cluster';
import { freePort } from '../../harness/ports.js';

const { HOST, WORKERS, PING_INTERVAL } = process.env;

/** In ms. */
export const pingInterval = Number(PING_INTERVAL);

/** @param {(host: string, port: number, listening: () => void) => void} serve runs in each worker */
export async function runCluster(serve) {
  if (!cluster.isPrimary) return serve(HOST, Number(process.env.PORT), () => process.send('listening'));
  const port = await freePort();
  let listening = 0;
  cluster.on('message', (_worker, message) => {
    if (message !== 'listening') return;
    listening++;
    if (listening === Number(WORKERS)) console.log(`the cluster listens on http://${HOST}:${port}`);
  });
  cluster.on('exit', (worker, code, signal) => {
    console.error(`worker ${worker.id} ended: ${signal ?? `exit code ${code}`}`);
    process.exit(1);
  });
  for (let i = 0; i < Number(WORKERS); i++) cluster.fork({ PORT: port });
}

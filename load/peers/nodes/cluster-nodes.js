// Starts `run`, one of the clusters beside this file, with `workers` workers.

import { fileURLToPath } from 'node:url';
import { settings } from '../support/control.js';
import { runNodes } from './nodes.js';

const { run, workers, pingInterval } = settings;
await runNodes(fileURLToPath(new URL(`${run}.js`, import.meta.url)), {
  WORKERS: String(workers),
  PING_INTERVAL: String(pingInterval),
});

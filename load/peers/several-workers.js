// One application on several workers: under gjallar run, or with the sticky sessions of stock Socket.IO.

import { fileURLToPath } from 'node:url';
import { program } from '../harness/service.js';
import { settings } from './control.js';
import { runNodes } from './nodes.js';

const { workers, isSticky } = settings;
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

if (isSticky) await runNodes(pathOf('sticky-application.js'), { WORKERS: String(workers) });
else {
  const args = ['run', pathOf('default-application.mjs'), '--workers', String(workers)];
  // One generator does the work of thousands of clients.
  await runNodes(program, { RATE_LIMIT: 'off', MAX_CONNECTIONS_PER_IP: '0' }, args);
}

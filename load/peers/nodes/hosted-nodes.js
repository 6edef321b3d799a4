// A program of `load/peers/` on several workers or machines, under `gjallar run`. With `stock`, it runs in one process of
// stock Socket.IO, and says itself where it listens.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { program, WITHOUT_LIMITS } from '../../harness/service.js';
import { settings, unavailable } from '../support/control.js';
import { runNodes } from './nodes.js';

const { application, workers = 1, stock = false } = settings;
const file = fileURLToPath(new URL(`../${application}.js`, import.meta.url));
const env = { ...WITHOUT_LIMITS, SETTINGS: JSON.stringify(settings) };

if (stock) await runNodes(file, env);
else if (!existsSync(program)) unavailable('dist/ is missing; npm run build');
else await runNodes(program, env, ['run', file, '--workers', String(workers)]);
